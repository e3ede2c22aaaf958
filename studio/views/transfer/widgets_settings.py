"""What is trained on the Transfer page: the choice of domains and η, its controls, and the setting of each method.

choice = Choice(target="webcam", sources=("amazon", "caltech"), label="mug", examples=3)
settings(data, choice, ["Weighted MultiSource", "No transfer"])     # studio.jobs.job.Setting by method
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import streamlit as st

from hetcore.data import HetData
from hetcore.figures import transfer as figures
from hetcore.transfer.left_out import FIRST_ETA
from hetcore.transfer.weighted import eta_formulas
from studio import forms, scenarios
from studio.jobs.job import Setting
from studio.messages import shown
from studio.runs.differences import VALUES
from studio.views.common.widgets import chart, escape
from studio.views.common.widgets_controls import Limits, follow_options, held
from studio.views.transfer.domains import METHODS, labels_of
from studio.views.transfer.eta import Path, apart, beyond, story

__all__ = ["Choice", "choose", "eta_control", "eta_marks", "operations", "problem", "settings", "sizes_of"]

# About even on a logarithmic scale, with the 0 that such a scale lacks.
ETAS = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0)
LEAST = 0.005  # where 0 stands among their logarithms
RULES = VALUES["eta"] | {"by hand": "by hand"}


@dataclass(frozen=True)
class Choice:
    """What the person chose.

    Attributes
    ----------
    target : str
        Domain to learn for.
    sources : tuple of str
        Domains to learn from.
    label : str or None
        The one class that is told from the others; None for all classes.
    examples : int
        Labelled examples of each class in the target.
    corrupted : (str, float) or None
        A source and the share of its labels that are flipped.
    eta : str or float
        "auto", "linear", "squared" or a number.
    update, eta_on : str, str or None
        See `hetcore.WeightedMultiSourceTrAdaBoostClassifier`.
    n_iterations, max_depth, seed : int
        Rounds, depth of the trees, seed of the choice of examples and of training.
    """

    target: str
    sources: tuple[str, ...]
    label: str | None = None
    examples: int = 3
    corrupted: tuple[str, float] | None = None
    eta: str | float = "auto"
    update: str = "exponential"
    eta_on: str | None = None
    n_iterations: int = 30
    max_depth: int = 1
    seed: int = 0


def problem(data: HetData, choice: Choice) -> str:
    """Say in one sentence why a choice cannot be trained, empty if it can."""
    if not choice.sources:
        return "No source is in use: choose at least one domain to learn from."
    labels = labels_of(data, choice.target)
    if choice.label is not None and choice.label not in labels:
        return (
            f"No row of {shown(choice.target)} is of the class {shown(choice.label)}: choose another class or target."
        )
    # A target of one class has nothing to tell apart, whatever the sources hold.
    if len(set(labels)) < 2:
        return f"The labels of {shown(choice.target)} hold no two classes: label more rows, or choose another target."
    return ""


def operations(data: HetData, choice: Choice) -> list[dict[str, Any]]:
    """Return the what-if operations of a choice, see `studio.scenarios`."""
    used = {choice.target, *choice.sources}
    # In the order of the data, so that equal choices make equal operations.
    done: list[dict[str, Any]] = [{"op": "drop_source", "name": n} for n in data.source_names if n not in used]
    if choice.label is not None:
        done.append({"op": "one_class", "label": choice.label, "seed": choice.seed})
    done.append({"op": "target_labels", "name": choice.target, "count": choice.examples, "seed": choice.seed})
    if choice.corrupted is not None and choice.corrupted[1] > 0 and choice.corrupted[0] in choice.sources:
        name, share = choice.corrupted
        done.append({"op": "flip_source_labels", "name": name, "share": float(share), "seed": choice.seed})
    return done


def sizes_of(data: HetData, choice: Choice) -> tuple[int, int]:
    """Return the labelled rows of the target and of its sources, n_T and n_S, after the operations of a choice."""
    scenario = scenarios.apply(data, operations(data, choice))
    known = forms.known(scenario.y)
    rows = {name: int(known[scenario.data.rows(name)].sum()) for name in scenario.data.source_names}
    return rows[choice.target], sum(rows.values()) - rows[choice.target]


def eta_marks(n_target: int, n_source: int) -> dict[str, float]:
    """Return what the paper's two formulas give for η, by their names on the page."""
    found = eta_formulas(n_target, n_source)
    return {"100 n_T / n_S": found["linear"], "100 n_T² / n_S": found["squared"]}


# Settings -------------------------------------------------------------------------------------------------------------


def settings(
    data: HetData, choice: Choice, methods: Iterable[str], before: Sequence[Mapping[str, Any]] = ()
) -> dict[str, Setting]:
    """Return the setting of each method, by its name on the page.

    Parameters
    ----------
    data : HetData
        After the operations before the page's own.
    choice : Choice
    methods : iterable of str
        Names in `METHODS`.
    before : sequence of mappings
        Operations before the page's own.
    """
    done = [*map(dict, before), *operations(data, choice)]
    form = {"form": "domains", "target": choice.target}
    return {name: Setting(METHODS[name].estimator, _params(name, choice, data), done, form=form) for name in methods}


def _params(method: str, choice: Choice, data: HetData) -> dict[str, Any]:
    offered = {
        "n_iterations": choice.n_iterations, "max_depth": choice.max_depth, "random_state": choice.seed,
        "eta": choice.eta, "update": choice.update, "eta_on": choice.eta_on,
    }  # fmt: skip
    names = [name for name in data.source_names if name in choice.sources and name != choice.target]
    return {key: offered[key] for key in METHODS[method].takes} | {"domain_names": names}


# Controls -------------------------------------------------------------------------------------------------------------


def choose(label: str, options: Sequence[str], start: Any, key: str, help: str, **more: Any) -> Any:
    """Draw a choice whose value is in the URL; where options have gone or come, one starts anew, several follow.

    Parameters
    ----------
    label : str
    options : sequence of str
    start : str or list of str
        A list lets the person choose several.
    key : str
    help : str
        Help.
    more : object
        Further arguments of the widget.
    """
    several = isinstance(start, list)
    # A choice of what is no longer there makes Streamlit raise.
    if several:
        follow_options(key, list(options), start)
    elif st.session_state.get(key) not in (None, *options):
        del st.session_state[key]
    draw = partial(st.multiselect, wrap=True) if several else st.selectbox
    return draw(label, options, key=held(key, start, Limits(choices=options), label=label), help=help, **more)


def eta_control(n_target: int, n_source: int, path: Path | None) -> str | float:
    """Draw the choice of η over what left-out rows and the formulas say of it, and return it.

    Parameters
    ----------
    n_target, n_source : int
        n_T and n_S.
    path : Path or None
        The left-out loss by η of the last training by "auto".
    """
    marks = eta_marks(n_target, n_source)
    rule = choose(
        "η · how much the target counts", list(RULES), "auto", "eta_rule",
        "How fast the target's weights move beside the sources' (η of Weighted MultiSource).", format_func=RULES.get,
    )  # fmt: skip
    value = dict(zip(("linear", "squared"), marks.values())).get(rule)
    if rule != "by hand":
        # The slider shows what another rule gives, so that moving it goes on from there.
        auto = FIRST_ETA if path is None else path.eta
        follow(auto if value is None else value)
    text = "0: the target has no say, all domains count alike. 10 and more: little but the target counts."
    key = held("eta", 1.0, Limits(choices=ETAS), label="η by hand")
    by_hand = st.select_slider("η", ETAS, key=key, help=text, on_change=take_over, format_func="{:g}".format)
    value = by_hand if rule == "by hand" else value
    if path is not None:
        marks = {"auto": path.eta}
    here = path.eta if rule == "auto" and path is not None else value
    voting = path.shares if path and rule == "auto" else []
    figure = figures.eta_scale(here, marks, (path.etas, path.losses) if path else None, apart(n_target), voting)
    chart(figure, "eta_scale", "η on its scale" if here is None else f"η = {figures.rounded(here)} on its scale")
    st.caption(f"n_T = {n_target:,} target examples, n_S = {n_source:,} source rows.")
    how = "η’s curve stands here once it is measured, at the start of a training."
    how = how if rule == "auto" else "Train with η “by left-out rows” to see its curve here."
    st.caption(escape(beyond(path, here) + story(path, n_target)) if path else how)
    return float(value) if rule == "by hand" else rule


def follow(eta: float) -> None:
    """Let the slider show the step nearest, on its scale, to an η that is not chosen by hand."""
    # On the scale that is drawn: 0.1 and 0.2 are as far apart as 10 and 20.
    places = np.log(np.maximum(ETAS, LEAST))
    st.session_state["eta"] = ETAS[int(np.abs(places - np.log(max(eta, LEAST))).argmin())]


def take_over() -> None:
    """Choose η by hand: whoever moves the slider means it."""
    st.session_state["eta_rule"] = "by hand"
