"""The state of a page as text: the value of every control, the data, the what-ifs, the runs shown. No Streamlit.

An address holds the whole state, so that a link opens the screen that it was copied from. Each value is told, also one
that equals its default or the least that a slider goes to: defaults may change, and what is left out can't be told from
what was never there. A value that an address gives is taken only as far as the control allows it: numbers are brought
into its interval, choices that are not there are dropped, and whatever can't be read counts as not given.

    ?data=planted&known=10&l0=0.0&l1=0.3&sources=["fou","kar"]&whatif=[{"op":"noise",…}]&run=…

A state whose address would be longer than `LONGEST` is kept in a file of the studio's folder, under a hash of itself,
and the address is `?state=ID`.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

__all__ = [
    "LONGEST", "ROUND", "SCHEMA", "SHOWN", "STEP", "SWITCHED", "VIEW", "Limits", "address", "decode", "encode", "keep",
    "kept", "of_today", "taken",
]  # fmt: skip

SCHEMA = 1
"""Of kept states; one of a newer studio is not read."""
LONGEST = 1_800
"""Characters of an address that browsers, proxies and chat programs carry."""
TABS = ("about", "after")
"""In an address: the open tab of what is told of the rounds, and of what is there after a training."""
ROUND = "round"
"""In an address: the round that is looked at, where that is not the last."""
CHOICES = (
    "instance", "case", "mapof", "mapby", "graph", "model", "colour", "node", "rows", "along", "band", "mass",
    "panea", "paneb", "against", "scored", "fails", "by", "column", "pair",
)  # fmt: skip
"""In an address: what was chosen to be looked at of what came of a training."""
STEP = "step"
"""In an address: how many steps of its lesson are done."""
VIEW = (*TABS, ROUND, STEP, *CHOICES)
"""In an address: how one looks at what there is, which is no step to go back from."""
_KINDS = ("classification", "regression")
RENAMED = {
    **{
        f"noise_{name}": tuple(f"noise_{name}_{kind}" for kind in _KINDS)
        for name in ("rounds", "rate", "deviation_rate", "leaves")
    },
    **{f"noise_columns_{name}": tuple(f"noise_columns_{kind}" for kind in _KINDS) for name in ("many", "few")},
    "spoilt": ("corrupted",),
    "spoilt_share": ("corrupted_share",),
}
"""In addresses of before: controls that have other names now."""
SWITCHED = ("matrix_factors", "matrix_rate", "matrix_penalty", "noise_leaves_classification")
"""Sliders that stand behind a switch now, which addresses of before do not tell: it was off."""
SHOWN = ("data", "run", "before", "labels", "curve", "present", *VIEW)
"""In an address beside the controls: the example in use, trainings shown and those before, how one looks at them."""
MOST_BYTES = 64 * 1024
MOST_STATES = 20_000
"""Kept states, of which the oldest go."""
ID = re.compile(r"[0-9a-f]{24}")


class Limits:
    """What a control allows: an interval of numbers, or a list of choices.

    Parameters
    ----------
    low, high : float, optional
        Least and greatest number.
    choices : sequence of str, optional
        Of numbers, of which the nearest is taken; of text, or of each text in a list.
    """

    def __init__(
        self, low: float | None = None, high: float | None = None, choices: Sequence[Any] | None = None
    ) -> None:
        self.low, self.high = low, high
        self.choices = None if choices is None else list(choices)


def of_today(given: Mapping[str, str]) -> dict[str, str]:
    """Return what an address says, controls by the names that they have now."""
    renamed = {name: value for old, value in given.items() for name in RENAMED.get(old, ())}
    switches = {f"{name}auto": "0" for name in SWITCHED if name in given}
    return renamed | switches | {name: value for name, value in given.items() if name not in RENAMED}


def encode(value: Any) -> str:
    """Return a control's value as text for an address: a flag as 1 or 0, a list as JSON."""
    # bool before anything else, for it is an int as well.
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, list | tuple):
        # A list as JSON, for names may have any separator in them.
        return json.dumps(list(value), ensure_ascii=False, separators=(",", ":"))
    return str(value)


def decode(text: str, like: Any, limits: Limits | None = None) -> Any:
    """Return what an address says of a control.

    Parameters
    ----------
    text : str
    like : bool, int, float, str or list of str
        The control's default, whose type the value has.
    limits : Limits, optional

    Returns
    -------
    as `like`, or None
        None where the text can't be read, or is none of the choices.
    """
    limits = limits or Limits()
    try:
        if isinstance(like, bool):
            # Only these two: a control that was switched off must not come on by a word.
            return {"1": True, "0": False}.get(text)
        if isinstance(like, int | float):
            return _number(text, like, limits)
        if isinstance(like, list | tuple):
            return _list(text, limits)
    except (ValueError, OverflowError, RecursionError):
        return None
    return text if limits.choices is None or text in limits.choices else None


def taken(text: str, like: Any, value: Any) -> bool:
    """Tell whether what an address says of a control is what `decode` made of it within the control's limits."""
    return value is not None and decode(text, like) == value


def _number(text: str, like: Any, limits: Limits) -> Any:
    # Python refuses to read whole numbers of thousands of digits, and 1e999 is infinite: neither is an address of ours.
    value = float(text[:64])
    if not math.isfinite(value):
        return None
    # Into the interval, for limits follow the data, and a link may be of other data.
    value = max(value, limits.low) if limits.low is not None else value
    value = min(value, limits.high) if limits.high is not None else value
    if limits.choices is not None:
        # The nearest that there is, since choices change between versions.
        value = min(limits.choices, key=lambda choice: abs(choice - value))
    return int(value) if isinstance(like, int) else float(value)


def _list(text: str, limits: Limits) -> list[str] | None:
    given = json.loads(text)
    if not isinstance(given, list) or not all(isinstance(each, str) for each in given):
        return None
    known = [each for each in given if limits.choices is None or each in limits.choices]
    # An empty list was chosen by somebody; one of which nothing is left was for other data.
    return known if known or not given else None


def address(base: str, state: Mapping[str, str], folder: Path) -> str:
    """Return an address that opens a state: with all of it, or with the id under which it is kept.

    Parameters
    ----------
    base : str
        Of the page, without a query.
    state : mapping of str to str
        Name and encoded value of each control, and "data", "whatif", "run".
    folder : Path
        Of the states that are kept.
    """
    whole = f"{base}?{urlencode(state)}"
    return whole if len(whole) <= LONGEST else f"{base}?{urlencode({'state': keep(state, folder)})}"


def keep(state: Mapping[str, str], folder: Path) -> str:
    """Keep a state and return its id, the same for the same state.

    Raises
    ------
    ValueError
        If it is larger than `MOST_BYTES`.
    """
    # Sorted, so that the same state has the same name.
    text = json.dumps({"schema": SCHEMA, "state": dict(state)}, ensure_ascii=False, sort_keys=True)
    if len(text.encode()) > MOST_BYTES:
        raise ValueError("This screen has too many settings for a link: share the run instead, from the Runs page.")
    name = hashlib.sha256(text.encode()).hexdigest()[:24]
    path = folder / f"{name}.json"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        # A draft of its own, for two pages may keep the same state at once.
        draft = folder / f".{name}.{secrets.token_hex(4)}"
        draft.write_text(text, "utf-8")
        # In one step, so that no reader meets half a file.
        os.replace(draft, path)
        _forget_the_oldest(folder)
    return name


def _forget_the_oldest(folder: Path) -> None:
    paths = list(folder.glob("*.json"))
    if len(paths) > MOST_STATES:
        for path in sorted(paths, key=lambda each: each.stat().st_mtime)[: len(paths) - MOST_STATES]:
            # Another process may have removed it meanwhile.
            path.unlink(missing_ok=True)


def kept(name: str, folder: Path) -> dict[str, str]:
    """Return the state that is kept under an id.

    Raises
    ------
    ValueError
        If there is none, or it was made by a newer studio.
    """
    path = folder / f"{name}.json"
    if not ID.fullmatch(name) or not path.is_file():
        raise ValueError("The settings of this link are no longer kept here: ask for a new link.")
    try:
        stored = json.loads(path.read_text("utf-8"))
        state, schema = stored["state"], stored["schema"]
        good = all(isinstance(each, str) for pair in state.items() for each in pair)
    except (ValueError, KeyError, AttributeError, TypeError):
        good, schema, state = False, SCHEMA, {}
    if schema > SCHEMA:
        raise ValueError("This link was made by a newer studio: update this one to open it.")
    if not good:
        raise ValueError("The settings of this link can't be read: ask for a new link.")
    return dict(state)
