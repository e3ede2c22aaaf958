"""What the Noise page is set by: the kind of data, the noise that is added, the parameters, ready examples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

import datasets
import hetcore as hc
from hetcore.data import HetData
from hetcore.factorization.choice import FIXED
from hetcore.factorization.estimator import MOST
from hetcore.heteroscedastic.tree_size import FEW
from hetcore.parameters import Parameter
from studio import session
from studio.jobs.job import Setting
from studio.views.common.widgets import escape
from studio.views.common.widgets_controls import Limits, chosen_or_slider, held, labels_known, slider, start_of_labels
from studio.views.noise import settings

__all__ = ["INVITATIONS", "controls", "examples", "explain", "mode"]

PRINTED, SIZED = "As printed in the paper", "Trees sized by left-out rows"
INVITATIONS = {
    "Table": "Press Train: two boosted models learn side by side from labels of which some are wrong. "
    "GBM trusts every row alike, HGBM learns which to trust.",
    "Matrix": "Press Train: two factorizations learn side by side. MF trusts every rating alike, HMF learns whose "
    "ratings stray.",
    "Tensor": "Press Train: two factorizations fill in what sensors did not tell. PTF trusts every reading alike, HTF "
    "learns which sensors stray.",
}
SYMBOLS = {
    "Classes": "**f** predicts the label, **ε** the share of labels that are drawn blindly there; both are boosted "
    "trees. A row **weighs** less where its label is doubted.",
    "Table": "**f** predicts the label, **σ** how far labels stray there; both are boosted trees. A row **weighs** "
    "less where labels stray. **Surprise** is |label − prediction| / σ. The **90% band** is f ± as many σ as held 90% "
    "of left-out rows; as printed, ± 1.645 σ. "
    "**Coverage** is the share of held-out labels in an interval.",
    "Matrix": "A rating is **μ + bᵢ + cⱼ + UᵢVⱼ** with noise of variance **σᵢⱼ² = PᵢQⱼ + Δ**, P and Q never negative. "
    "MF is the same with σ = 1. **Deviation** is the mean σ of a user's or an item's ratings.",
    "Tensor": "A reading is **μ + biases + Σ U V W** over three codes, with noise of variance **σ² = Σ P Q R + Δ**. "
    "PTF is the same with σ = 1. The **90% band** is the filled-in value ± 1.645 σ.",
}


def mode(data: HetData) -> str:
    """Let the person choose the kind of data, at first the one that suits, and return it."""
    chosen = st.segmented_control(
        "What is noisy?", list(settings.MODES),
        key=held("mode", settings.suited(data), Limits(choices=list(settings.MODES)), label="What is noisy?"),
        required=True, on_change=_forget_runs,
        help="A table of rows, a matrix of users and items, or a tensor of sensors, times and quantities.",
    )  # fmt: skip
    return chosen


def _forget_runs() -> None:
    """Another mode has trainings of its own: those in the URL are not its."""
    for name in ("run", "labels"):
        st.query_params.pop(name, None)


def examples(mode: str, in_use: str | None, primary: bool = False) -> None:
    """Offer the examples that show a mode, but the one in use."""
    offered = [name for name in settings.MODES[mode].examples if name in datasets.names() and name != in_use]
    st.caption("Examples with something to see here:")
    with st.container(horizontal=True):
        for place, name in enumerate(offered):
            about = datasets.info(name)
            st.button(
                f"Use {about.title}", key=f"load_{name}", help=about.story, on_click=_use, args=(name,),
                type="primary" if primary and place == 0 else "secondary", icon=":material/folder_open:",
            )  # fmt: skip


def _use(name: str) -> None:
    """Use an example and train on it at once."""
    session.use_example(name)
    _forget_runs()
    st.session_state["train_now"] = True


def explain(mode: str, data: HetData) -> None:
    """Say what the symbols are."""
    st.markdown(SYMBOLS["Classes" if mode == "Table" and data.target_kind == "classification" else mode])


def controls(mode: str, data: HetData, before: Sequence[Mapping[str, Any]]) -> dict[str, Setting]:
    """Draw the controls and return the two settings by label."""
    known, share, sd = _noise_controls(mode, data)
    codes = _code_controls(mode, data)
    with st.expander("More parameters"):
        params = _table_params(data) if mode == "Table" else _factor_params(mode)
    seed = params["random_state"]
    operations = [*before, *settings.operations_of(data, known / 100, share / 100, sd, seed)]
    return settings.settings(mode, data, params, operations, codes)


def _noise_controls(mode: str, data: HetData) -> tuple[int, int, float]:
    """Draw what is done to the labels; return the known and the corrupted share in per cent, and the noise."""
    start = {"Table": 70, "Matrix": 80, "Tensor": 20}[mode]
    text = settings.MODES[mode].labels.capitalize()
    known = labels_known(start, f"{mode.lower()}_known", text, most=95)
    if data.target_kind == "classification":
        # Nobody's own labels are corrupted unasked.
        start = start_of_labels("flipped", 20, 0)
        share = slider(
            "Labels flipped, per cent", 0, 45, start=start, step=5, key="flipped",
            help="This share of the training labels gets another class, at random.",
        )  # fmt: skip
        return known, share, 0.0
    key = mode.lower()
    note = f"This share of the {text.lower()} to train on gets noise."
    share = slider(f"{text} disturbed, per cent", 0, 50, start=0, step=5, key=f"{key}_disturbed", help=note)
    # One element, whatever is in it: what is below keeps its place, and an opened expander stays open.
    with st.container():
        if not share:
            return known, share, 0.0
        sd = slider(
            "Noise, in standard deviations", 0.25, 4.0, start=1.0, step=0.25, key=f"{key}_sd",
            help="Size of that noise, in units of the labels' own standard deviation.",
        )  # fmt: skip
    return known, share, sd


def _code_controls(mode: str, data: HetData) -> list[str]:
    """Draw the choice of the columns of codes and return them."""
    count = settings.MODES[mode].n_codes
    if not count:
        return []
    _, columns = settings.records(data, count)
    start = settings.guessed_modes(columns, count)
    if len(columns) == count and count == 3:
        chosen = start
    else:
        chosen = _chosen_codes(mode, columns, start)
    if text := settings.without_code(data, chosen):
        st.caption(escape(text))
    return chosen


def _chosen_codes(mode: str, columns: Sequence[str], start: Sequence[str]) -> list[str]:
    """Draw a list for each column of codes and return what was chosen; the lists begin at `start`."""
    count = len(start)
    names = ("Users", "Items") if count == 2 else ("First mode", "Second mode", "Third mode")
    chosen: list[str] = []
    for name, guess in zip(names, start):
        free, key = [column for column in columns if column not in chosen], f"{mode} {name}".lower().replace(" ", "_")
        if st.session_state.get(key, free[0]) not in free:
            del st.session_state[key]
        held(key, guess if guess in free else free[0], Limits(choices=free), label=name)
        chosen.append(st.selectbox(name, free, key=key, help="The column with its codes."))
    return chosen


def _seed(mode: str) -> int:
    key = held(f"{mode.lower()}_seed", 0, Limits(0, 9999), label="Seed")
    return int(st.number_input("Seed", 0, 9999, key=key, help="Of split, noise and training."))


def _table_params(data: HetData) -> dict[str, Any]:
    # Numbers and classes have defaults of their own, and so controls of their own.
    kind, method = data.target_kind or "regression", getattr(hc, settings.table_method(data))
    params = {
        "n_iterations": _from(method.n_iterations, f"noise_rounds_{kind}"),
        "learning_rate": _from(method.learning_rate, f"noise_rate_{kind}"),
        "deviation_rate": _from(method.deviation_rate, f"noise_deviation_rate_{kind}"),
        "weighting": _from(method.weighting, f"weighting_{kind}"),
    }
    params |= _tree_sizes(method, kind)
    printed = st.toggle(
        PRINTED, key=held("noise_printed", False, label=PRINTED), help="One model of all rows, equation (10)."
    )
    return params | {"as_printed": printed, "random_state": _seed("Table")}


def _tree_sizes(method: Any, kind: str) -> dict[str, Any]:
    """Draw the leaves of trees and the columns they see; of classes a switch that leaves both to the training."""
    names = {"max_leaf_nodes": method.max_leaf_nodes, "column_sample": method.column_sample}
    start = {name: FEW.get(name) if each.default == "auto" else each.default for name, each in names.items()}
    # One element, whatever is in it: what is below keeps its place, and an opened expander stays open.
    with st.container():
        if "auto" in (each.default for each in names.values()):
            key = held(f"noise_leaves_{kind}auto", True, label=SIZED)
            if st.toggle(SIZED, key=key, help="By the loss of rows that are left out."):
                return dict.fromkeys(names, "auto")
        leaves = _from(method.max_leaf_nodes, f"noise_leaves_{kind}", start["max_leaf_nodes"])
        share = slider(
            "Columns a tree sees, per cent", 5, 100, start=round(100 * start["column_sample"]), step=5,
            key=f"noise_columns_{kind}", help="Fewer are faster with many.",
        )  # fmt: skip
    return {"max_leaf_nodes": leaves, "column_sample": share / 100}


def _from(parameter: Parameter, key: str, start: Any = None) -> Any:
    """Draw a slider that begins at a method's default, wherever that is, unless it is given."""
    (label, low, high, step), start = parameter.slider, parameter.default if start is None else start
    return slider(label, min(low, start), max(high, 2 * start), start=start, step=step, key=key, help=parameter.help)


def _factor_params(mode: str) -> dict[str, Any]:
    key, method = mode.lower(), getattr(hc, settings.MODES[mode].learned)
    # Known before its toggle is drawn, which stands further down.
    printed = st.session_state[held(f"{key}_printed", False, label=PRINTED)]
    epochs = _from(method.n_iterations, f"{key}_epochs")
    factors = _chosen(method.n_factors, f"{key}_factors", printed)
    noisy = _from(method.n_deviation_factors, f"{key}_noisy")
    rate = _chosen(method.learning_rate, f"{key}_rate", printed)
    penalty = _chosen(method.regularisation, f"{key}_penalty", printed)
    patience = _from(method.patience, f"{key}_patience")
    printed = st.toggle(
        PRINTED, key=held(f"{key}_printed", False, label=PRINTED), help="The paper's updates to the letter."
    )
    params = {"n_factors": factors, "n_iterations": epochs, "learning_rate": rate, "regularisation": penalty}
    params |= {"n_deviation_factors": noisy, "patience": patience, "as_printed": printed}
    return params | {"random_state": _seed(mode)}


def _chosen(parameter: Parameter, key: str, printed: bool) -> Any:
    """Draw a parameter that few entries choose by themselves; a slider of one that has a number by default."""
    if parameter.default != "auto":
        return _from(parameter, key)
    symbol, many = parameter.slider.label, FIXED[parameter.name]
    words = f"{symbol} of least error on ratings left out, of {MOST:,} ratings or fewer; of more {many:g}."
    note = f"As printed nothing is left out: {symbol} is {many:g}." if printed else ""
    return chosen_or_slider(parameter, key, f"{symbol} by cross-validation", words, start=many, note=note)
