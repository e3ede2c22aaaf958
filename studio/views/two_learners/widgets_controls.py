"""What the Two learners page is set by: the sources in use, their learners, the models, parameters, ready examples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import streamlit as st

import hetcore as hc
from hetcore.data import HetData
from hetcore.multimodal import deep
from studio.jobs.job import Setting
from studio.views.common.widgets import escape
from studio.views.common.widgets_controls import Limits, follow_options, held, labels_known, parameter_slider
from studio.views.two_learners import settings as two_learners
from studio.views.two_learners.settings import BRANCHES, EXAMPLES, FEATURES, FIRST, SECOND

__all__ = ["Chosen", "controls", "explain", "offer_examples", "usable"]

ROUNDS, RATE = 20, 0.3
"""Where the page starts: a few rounds with large steps, so that there is much to see soon."""
WORDS = {
    "tree": "trees: small decision trees, a vector of scores in each leaf",
    "linear": "linear: ridge least squares on the same columns",
    "network": "network: two hidden layers on columns, pixels or words",
    "cnn": "CNN: a small convolutional network on the image (PyTorch)",
}
STEPS = {
    "newton": "Newton: exact minimum",
    "bayes": "Bayesian optimisation: 30 tries in [0, 1], as in the paper",
    "grid": "grid: 9 values in [0, 1]",
    "fixed": "fixed: 0.1",
}


class Chosen(NamedTuple):
    """What the controls say: learners by source, all labels there can be, the settings by label."""

    learners: dict[str, str]
    labels: list[str]
    settings: dict[str, Setting]


def offer_examples(use: Callable[[str], None], used: str | None, first: bool = False) -> None:
    """Offer the examples that show the page best, but the one in use.

    Parameters
    ----------
    use : callable
        Called with the name of the one that is chosen.
    used : str or None
        The example in use.
    first : bool, default=False
        Whether the first one is what to do next.
    """
    import datasets

    names = [name for name in EXAMPLES if name != used]
    with st.container(horizontal=True, vertical_alignment="center"):
        if not first:
            st.caption("Other examples for this page")
        for name in names:
            about, kind = datasets.info(name), "primary" if first and name == names[0] else "secondary"
            text = f"Use {escape(about.title)}"
            st.button(text, type=kind, on_click=use, args=(name,), key=f"load {name}", help=escape(about.story))


def controls(data: HetData, title: str, operations: Sequence[dict[str, Any]]) -> Chosen:
    """Draw the controls and return what they say.

    Parameters
    ----------
    data : HetData
        After the Data page's operations.
    title : str
        Of the data in use.
    operations : sequence of dict
        The Data page's.
    """
    # Drawn above the sources, whose learners say which models there can be.
    top = st.container()
    learners = _learners(data, title)
    labels = two_learners.labels(data, learners)
    with top:
        models = _models(labels, len(learners))
    known = labels_known(50, "two_known")
    rounds = parameter_slider(hc.TwoWeakLearnerClassifier.n_iterations, "two_rounds", ROUNDS)
    with st.expander("More parameters"):
        params = {"n_iterations": rounds} | _more(models)
    if not deep.has_torch():
        st.caption(
            f"With PyTorch images can have convolutional networks, and “{BRANCHES}” real branches: `{deep.HOW}`."
        )
    done = [dict(operation) for operation in operations]
    if known < 100:
        done.append({"op": "labels", "fraction": known / 100, "seed": params["random_state"]})
    return Chosen(learners, labels, two_learners.settings(data, learners, models, params, done))


def _learners(data: HetData, title: str) -> dict[str, str]:
    """Draw the choice of sources and of a learner for each."""
    first, names = two_learners.first_learners(data), data.source_names
    chosen, key = list(first), f"modalities {title}"
    if len(names) > 2:
        follow_options(key, names, chosen)
        held(key, chosen, Limits(choices=names), "sources", label="Sources in use")
        chosen = st.multiselect(
            "Sources in use", names, key=key, wrap=True, help="Each is a modality; take two or more."
        )
    found = {}
    # In the order of the first choice, for the letters ε and δ go by it.
    for name in two_learners.in_order(data, chosen):
        source, learner_key = data.sources[name], f"learner {title} {name}"
        options = two_learners.possible_learners(source, deep.has_torch())
        start = first.get(name) if first.get(name) in options else options[0]
        held(learner_key, start, Limits(choices=options), f"learner {name}", label=f"Learner of {name}")
        text = "Weak learner of this source. " + ". ".join(WORDS[each] for each in options).capitalize() + "."
        found[name] = st.selectbox(
            f"Learner of {escape(name)}", options, key=learner_key, help=text, format_func=two_learners.LEARNERS.get
        )
    return found


def _models(labels: Sequence[str], alone: int) -> list[str]:
    """Draw the choice of models; at first each source alone, and all together."""
    chosen = st.session_state.get("two_models")
    # Labels have the learner in them: with another one the models alone are chosen anew, the joint ones stay.
    if chosen is not None and not set(chosen) <= set(labels):
        joint = [label for label in chosen if label in labels[alone:]]
        st.session_state["two_models"] = [*labels[:alone][:2], *joint]
    held("two_models", [*labels[:alone][:2], FIRST], Limits(choices=labels), "models", label="Models")
    return st.multiselect(
        "Models, trained side by side",
        labels,
        key="two_models",
        wrap=True,
        help=f"Each source alone; {FIRST}: 2WL, by gradients; {SECOND}: 2WL2O, by curvature too; {FEATURES}: a network "
        f"that reads what boosted trees say of the table; {BRANCHES}: a network that reads the table's columns.",
    )


def usable(chosen: Chosen) -> bool:
    """Say in one sentence why this can't be trained, if it can't."""
    if len(chosen.learners) < 2:
        st.warning("Fewer than two sources are in use: choose at least two.")
    elif not chosen.settings:
        st.warning("No model is chosen: choose at least one.")
    return len(chosen.learners) > 1 and bool(chosen.settings)


# Parameters -----------------------------------------------------------------------------------------------------------


def _choice(label: str, options: dict[str, str], key: str, help: str) -> str:
    names = list(options)
    key = held(key, names[0], Limits(choices=names), label=label)
    return st.selectbox(label, names, key=key, help=help, format_func=options.get)


def _more(models: Sequence[str]) -> dict[str, Any]:
    printed = st.toggle(
        "As printed in the paper", key=held("two_printed", False, label="As printed in the paper"),
        help="Algorithms 1 and 2 and nothing else: f starts at 0, whole steps, all rows, no early end.",
    )  # fmt: skip
    params = _printed_steps() if printed else _steps()
    if SECOND in models and not printed:
        forms = {"printed": "as printed in the paper", "exact": "the quadratic form as it is"}
        params["hessian"] = _choice("Curvature of the 2nd order", forms, "two_hessian", "Which second-order form.")
    if SECOND in models:
        params["inner_iterations"] = parameter_slider(hc.TwoWeakLearnerClassifier.inner_iterations, "two_inner")
    params["max_depth"] = parameter_slider(hc.TwoWeakLearnerClassifier.max_depth, "two_depth")
    params["min_samples_leaf"] = parameter_slider(hc.TwoWeakLearnerClassifier.min_samples_leaf, "two_leaf")
    params["epochs"] = parameter_slider(hc.TwoWeakLearnerClassifier.epochs, "two_epochs")
    if FEATURES in models or BRANCHES in models:
        params |= _branches(FEATURES in models)
    key = held("two_seed", 0, Limits(0, 9999), label="Seed")
    seed = st.number_input("Seed", 0, 9999, key=key, help="Of split and training.")
    return params | {"random_state": int(seed)}


def _printed_steps() -> dict[str, Any]:
    forms = {name: STEPS[name] for name in two_learners.PRINTED}
    step = _choice(
        "Steps ε, δ, as printed", forms, "two_printed_step", "Fixed ones are the paper's 2WL_Fix, 2WL2O_Fix."
    )
    return {"as_printed": True, "step": step}


def _steps() -> dict[str, Any]:
    step = _choice("Steps ε, δ", STEPS, "two_step", "How the steps of a round are chosen.")
    rate = parameter_slider(hc.TwoWeakLearnerClassifier.learning_rate, "two_rate", RATE)
    share = parameter_slider(hc.TwoWeakLearnerClassifier.subsample, "two_share")
    return {"step": step, "learning_rate": rate, "subsample": share}


def _branches(boosted: bool) -> dict[str, Any]:
    params: dict[str, Any] = {}
    if boosted:
        params["n_stages"] = parameter_slider(hc.BoostedFeatureNetworkClassifier.n_stages, "two_stages")
    params["network_epochs"] = parameter_slider(hc.BoostedFeatureNetworkClassifier.n_iterations, "two_network_epochs")
    if deep.has_torch():
        forms = {"concatenation": "side by side (concatenation)", "product": "multiplied (product)"}
        params["fusion"] = _choice("Branches meet", forms, "two_fusion", "How the branches of the network meet.")
    return params


def explain() -> None:
    """Say what the words and symbols are."""
    st.markdown(
        "A **round** of 2WL fits a weak learner to each source: g, trees on the table, and h, a network on the image. "
        "Both are fitted to what the model still gets wrong, the negative gradient of the risk, and "
        "**f ← f + ε g + δ h**. The **steps ε and δ** are chosen together so that the risk falls most; a step near 0 "
        "says that a source had nothing to add in that round. A step before shrinkage is drawn, and it grows "
        "while what is left to learn shrinks. **Moved** is how far a source changed the scores in a round.\n\n"
        f"**{SECOND}** (2WL2O) fits the learners to the curvature of the risk as well, in an inner loop. "
        f"**{FEATURES}** gives a network, beside the image, the boosted feature vector: what each stage of boosted "
        f"trees on the table adds to each class. **{BRANCHES}** is the same network with the table's own columns.\n\n"
        "**Risk** is the mean of exp(−(f_y − f_k) / 2), summed over the wrong classes k: a few rows that a model gets "
        "wrong and is sure of can make it large. **F1** is the mean over the classes of the harmonic mean of "
        "precision and recall: rare classes count like frequent ones. **Source "
        "weights** share out the fall of the log risk among the sources.\n\n"
        "A **star** marks the round that is kept: some of the known labels are left out of all rounds, and the "
        "training ends once their loss has not fallen for 20 rounds. These rows also say how much each source counts "
        "in the end, so that a source that misleads counts nothing."
    )
