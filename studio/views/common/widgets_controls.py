"""Controls whose values are the page's state: in the address, over page switches, and told in a link.

    rate = slider("Learning rate", 0.01, 1.0, 0.1, 0.01, "rate", "Shrinkage of each step.")
    seed = st.number_input("Seed", 0, 9999, key=held("seed", 0, Limits(0, 9999)))
    write()      # once a page, after its controls: the address tells all of them

A control starts with what the address says, else with what it had when the page was last left, else with its default.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any
from urllib.parse import urlencode

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from hetcore.parameters import Parameter
from studio import session, state
from studio.state import Limits
from studio.views.common import glossary
from studio.views.common.widgets_present import NOTHING, PRESENT, present

__all__ = [
    "OWN_SHARE", "Limits", "asked_choice", "chosen_or_slider", "follow", "follow_options", "go_back", "held", "in_link",
    "labels_known", "multiselect", "parameter_slider", "share", "slider", "start_of_labels", "train_example", "values",
    "write",
]  # fmt: skip

OWN_SHARE = 80
"""Per cent of one's own labels that train unless the person says otherwise."""
NAMES, VALUES, LABELS = "control names", session.CONTROLS, "control labels"
"""In the session: names in the address of this page's controls, the value of every control there was, and labels."""
REFUSED = "values that were not taken"
"""In the session: names in the address of controls that could not be as it says."""
OPTIONS = "options of controls"
"""In the session: what the choices of several offered when they were drawn last, by key."""
PAGE, EARLIER, AT = "page of controls", "addresses before", "address written at"
"""In the session: the page of the names, the addresses that its pages had, and when one was written last."""
SETTLED = 2.0
"""Seconds after which the browser has taken over an address that was written: another one then is not a late word."""
MOST_ADDRESSES = 100


def follow(page: str) -> None:
    """Begin a page's controls, which follow the address where the person goes back or forward in the browser."""
    # Names of another page's controls would stand in the address of this one.
    if st.session_state.get(PAGE) != page:
        st.session_state[PAGE], st.session_state[NAMES] = page, {}
        return
    written = st.session_state.get(session.WRITTEN) or {}
    if not _went_back(written):
        return
    asked = session.asked()
    for key, name in st.session_state[NAMES].items():
        # Read from the address when they are drawn.
        if name in asked:
            st.session_state.pop(key, None)
    if asked.get("whatif") != written.get("whatif"):
        st.session_state.pop("operations", None)
    # The trainings of that address are found again as after a reload.
    if asked.get("run") and asked["run"] != written.get("run"):
        for name in [name for name in st.session_state if str(name).startswith(f"live {page}")]:
            del st.session_state[name]


def _went_back(written: Mapping[str, str]) -> bool:
    """Return whether the browser shows an address that a page had before, and nothing else was done."""
    earlier, now = st.session_state.setdefault(EARLIER, []), _without_view(written)
    # That of a page without controls is empty.
    if session.WRITTEN in st.session_state and now not in earlier:
        st.session_state[EARLIER] = earlier = [*earlier, now][-MOST_ADDRESSES:]
    given = _without_view(st.query_params.to_dict())
    if given == now or not (given in earlier or _before_reload(given, now)) or given.get("data") != now.get("data"):
        return False
    # A control that was moved just now came with the address of before.
    kept = st.session_state.get(VALUES, {})
    moved = any(key in kept and kept[key] != value for key, value in values().items())
    return not moved and time.monotonic() - st.session_state.get(AT, 0.0) > SETTLED


def _before_reload(given: Mapping[str, str], now: Mapping[str, str]) -> bool:
    """Return whether an address is of a session before: it says otherwise what none but the browser changes."""
    names = (*st.session_state[NAMES].values(), "run", "whatif")
    return session.WRITTEN in st.session_state and any(given.get(name) not in (None, now.get(name)) for name in names)


def _without_view(address: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in address.items() if name not in state.VIEW}


def held(key: str, start: Any, limits: Limits | None = None, name: str = "", *, label: str = "") -> str:
    """Make a widget's value part of the page's state, and return its key.

    Parameters
    ----------
    key : str
        Of the widget, which is drawn next and is given no value of its own.
    start : bool, int, float, str or list of str
        Its default.
    limits : Limits, optional
        What it allows; a value from elsewhere is brought into it.
    name : str, optional
        In the address; the key unless given.
    label : str, optional
        What the widget is called on the page, where a sentence names it.
    """
    if label:
        _name_control(name or key, label)
    # Kept apart from the widgets' own values, which Streamlit forgets when a page without them is drawn.
    st.session_state.setdefault(NAMES, {})[key] = name or key
    # Once it is there the person's own movements count; the address was read already.
    if key not in st.session_state:
        asked = session.asked().get(name or key)
        value = None if asked is None else state.decode(asked, start, limits)
        if asked is not None and not state.taken(asked, start, value):
            st.session_state.setdefault(REFUSED, []).append(name or key)
        if value is None:
            value = _allowed(st.session_state.get(VALUES, {}).get(key), limits)
        st.session_state[key] = start if value is None else value
    elif not _sent(key):  # set once more: whoever never heard of it would draw the control at its least, and mean it
        st.session_state[key] = st.session_state[key]
    return key


def _sent(key: str) -> bool:
    """Return whether the browser sent a value of a widget with this run.

    A run that is cut short by the next takes along what it has not sent, the values that it set included, and Streamlit
    sends these no second time.
    """
    # Streamlit has no public way to ask; without a session, as in tests, nothing has to be sent.
    context = get_script_run_ctx(suppress_warning=True)
    if context is None:
        return True
    session_state = context.session_state._state
    widget = session_state._key_id_mapper.get_id_from_key(key)
    return widget is not None and widget in session_state._new_widget_state


def _allowed(value: Any, limits: Limits | None) -> Any:
    """Return an earlier value where the control still allows it, else None."""
    if limits is None or limits.choices is None or value is None:
        return value
    if isinstance(value, list):
        # All or nothing: half of a choice that was made for other data was chosen by nobody.
        return value if set(value) <= set(limits.choices) else None
    return value if value in limits.choices else None


def slider(label: str, low: Any, high: Any, start: Any, step: Any, key: str, help: str, name: str = "") -> Any:
    """Draw a slider over the numbers from `low` to `high`; `name` as in `held`."""
    _name_control(name or key, label)
    help = glossary.with_equation(label, help)
    return st.slider(label, low, high, step=step, key=held(key, start, Limits(low, high), name), help=help)


def asked_choice(name: str, options: Sequence[str], start: int | None = 0) -> int | None:
    """Return the place of what the address asks to look at among some options, `start` where it asks for none of them.

    Parameters
    ----------
    name : str
        In the address, one of `state.CHOICES`; the choice is drawn with `in_link(name)`.
    options : sequence of str
    start : int, optional
    """
    asked = session.asked().get(name)
    return options.index(asked) if asked in options else start


def in_link(name: str, key: str = "") -> dict[str, Any]:
    """Return how a widget tells the address what was just chosen by it; its key is the name unless given."""
    key = key or name
    return {"key": key, "on_change": partial(_keep_in_link, name, key)}


def _keep_in_link(name: str, key: str) -> None:
    # A page may have taken it away meanwhile to draw its choice anew: what is gone is nothing to keep.
    if key in st.session_state:
        session.tell(name, str(st.session_state[key]))


def labels_known(start: int, key: str, what: str = "Labels", most: int = 100) -> int:
    """Draw which share of the labels trains, in per cent: `start` of an example's many, four fifths of one's own few.

    Parameters
    ----------
    start : int
        Of an example.
    key : str
        In the session and in the address.
    what : str, default="Labels"
        What is predicted, in the plural.
    most : int, default=100
        Per cent at most.
    """
    start = start_of_labels(key, start, OWN_SHARE)
    text = "The others are hidden from training and score it."
    return slider(f"{what} known, per cent", 5, most, start=start, step=5, key=key, help=text)


def start_of_labels(key: str, example: int, own: int) -> int:
    """Return where a control of labels begins, of an example's or of one's own; it begins anew with other data."""
    st.session_state.setdefault(session.SHARES, set()).add(key)
    return example if st.session_state.get("uploaded") is None else own


def _name_control(name: str, label: str) -> None:
    st.session_state.setdefault(LABELS, {})[name] = label


def parameter_slider(parameter: Parameter, key: str, start: Any = None, name: str = "") -> Any:
    """Draw the slider of a declared parameter: label, ends, step, default and help stand with the method.

    Parameters
    ----------
    parameter : Parameter
        Such as `hc.GBCRegressor.lambda0`.
    key : str
        In the session and in the address.
    start : optional
        Where it begins, if not at the method's default.
    name : str, optional
        In the address; the key unless given.
    """
    label, low, high, step = parameter.slider
    start = parameter.default if start is None else start
    return slider(label, low, high, start=start, step=step, key=key, help=parameter.help, name=name)


def chosen_or_slider(
    parameter: Parameter, key: str, name: str, words: str, *, start: Any = None, note: str = ""
) -> Any:
    """Draw a switch that leaves a parameter to the training, "auto", and its slider while that is off.

    Parameters
    ----------
    parameter : Parameter
    key : str
        Of the slider; the switch's has "auto" behind it.
    name, words : str
        The switch's label and help.
    start : optional
        Where the slider begins, for a default of "auto" is no number.
    note : str, default=""
        Said below the switch that is on.
    """
    # One element, whatever is in it: what is below keeps its place, and an opened expander stays open.
    with st.container():
        if st.toggle(name, key=held(f"{key}auto", parameter.default == "auto", label=name), help=words):
            if note:
                st.caption(note)
            return "auto"
        return parameter_slider(parameter, key, start)


def multiselect(label: str, options: Sequence[str], key: str, name: str, **more: Any) -> list[str]:
    """Draw a choice of several of some texts, all at first; `name` is its name in the address."""
    _name_control(name, label)
    follow_options(key, list(options), list(options))
    key = held(key, list(options), Limits(choices=options), name)
    return st.multiselect(label, options, key=key, wrap=True, **more)


def follow_options(key: str, options: list[str], start: Sequence[str]) -> None:
    """Keep what was chosen of several where options have gone or come since; those that came are as at the start.

    Parameters
    ----------
    key : str
        Of the control, which is drawn next.
    options : list of str
        What it offers now.
    start : sequence of str
        What is chosen of them at first.
    """
    known = st.session_state.setdefault(OPTIONS, {})
    before, known[key] = known.get(key, options), options
    for kept in (st.session_state, st.session_state.get(VALUES, {})):
        chosen = [name for name in options if name in kept.get(key, ()) or name in set(start) - set(before)]
        # Only then: what is set anew takes the place of what the browser is about to send.
        if key in kept and set(chosen) != set(kept[key]):
            kept[key] = chosen or list(start)  # all that was chosen has gone


def values() -> dict[str, Any]:
    """Return the values of the page's controls by key."""
    return {key: st.session_state[key] for key in st.session_state.get(NAMES, {}) if key in st.session_state}


def address_values() -> dict[str, str]:
    """Return the state of the page as its address tells it."""
    drawn = {key: name for key, name in st.session_state.get(NAMES, {}).items() if key in st.session_state}
    # Before the page is left, for then its widgets' values are gone.
    st.session_state.setdefault(VALUES, {}).update({key: st.session_state[key] for key in drawn})
    controls = {name: state.encode(st.session_state[key]) for key, name in drawn.items()}
    kept = {name: value for name, value in st.query_params.to_dict().items() if name in state.SHOWN}
    operations = session.operations()
    return kept | controls | ({"whatif": json.dumps(operations, ensure_ascii=False)} if operations else {})


def write(more: Mapping[str, str] | None = None) -> None:
    """Write the state of the page to its address, a long one under the id that it is kept by; hide what a presenter
    does not show. `more` is written beside it."""
    _say_refused()
    present(st.session_state.get(NAMES, {}))
    wanted = address_values() | dict(more or {})
    # What belongs to the data and the runs stays legible in a short address too.
    if sum(map(len, [*wanted, *wanted.values()])) > state.LONGEST:
        long, wanted = wanted, {"state": state.keep(wanted, session.states())}
        wanted |= {name: long[name] for name in state.SHOWN if name in long}
    st.session_state[session.WRITTEN] = wanted
    if st.query_params.to_dict() != wanted:
        st.session_state[AT] = time.monotonic()
        st.query_params.from_dict(wanted)


def _say_refused() -> None:
    """Say which controls could not be as the address says."""
    if names := st.session_state.pop(REFUSED, ()):
        words = "; ".join(st.session_state.get(LABELS, {}).get(name, name) for name in dict.fromkeys(names))
        session.note("controls", f"Not as the link says, for that cannot be here: {words}.")


def presenter_link(base: str, values: dict[str, str]) -> None:
    """Offer the address in large type with the chosen controls only."""
    labels = st.session_state.get(LABELS, {})
    # What has no label is no control, such as the edits of a network.
    names = [name for name in dict.fromkeys(st.session_state.get(NAMES, {}).values()) if name in labels]
    chosen = st.multiselect("To present: large type, with these controls only", names, [], key="presented controls",
                            format_func=labels.get)  # fmt: skip
    # Without what is presented now: the link says anew what is.
    plain = {name: value for name, value in values.items() if name != PRESENT}
    whole = f"{state.address(base, plain, session.states())}&{urlencode({PRESENT: ','.join(chosen) or NOTHING})}"
    st.code(whole, language=None, wrap_lines=True)


def share() -> None:
    """Offer the address of the screen."""
    text = "A link that opens this screen: data, what-ifs, settings."
    opened = st.popover("Share", icon=":material/link:", help=text, key="share link", on_change="rerun")
    if not opened.open:
        return
    with opened:
        # The address is made from the state, for the browser's own may be a run behind.
        base = (st.context.url or "").partition("?")[0]
        st.code(state.address(base, address_values(), session.states()), language=None, wrap_lines=True)
        if st.session_state.get(NAMES):
            presenter_link(base, address_values())
        if st.session_state.get("uploaded") is not None:
            st.caption("The link opens your uploaded data for you; anybody else needs the files.")


def go_back(controls: Mapping[str, Any], operations: Sequence[Mapping[str, Any]]) -> None:
    """Set the controls, and the what-ifs, that what is shown was made with."""
    # Nothing has come since that was not there when these were chosen.
    st.session_state.pop(OPTIONS, None)
    st.session_state.update(controls)
    st.session_state["operations"] = list(operations)


def train_example(name: str) -> None:
    """Use an example and train on it at once: who asks for one on a page of trainings wants to see them."""
    session.use_example(name)
    st.session_state["train_now"] = True
