"""What the Two learners page trains, without a page: modalities and their learners, a setting for each model, verdicts.

learners = {"shape": "tree", "pixels": "network"}                # a source in use, and what learns from it
labels(data, learners)                                           # "Trees on shape", "Network on pixels", ...
settings(data, learners, ["Together"], params, operations)       # studio.jobs.job.Setting by label
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from hetcore.data import HetData, Source
from hetcore.data.text import counted
from hetcore.events import RoundEnd
from hetcore.metrics import error_rate, macro_f1
from hetcore.multimodal.learners import default_learner
from studio.jobs.job import Setting
from studio.messages import difference, shown
from studio.views.common.curves import SCORED, Events, kept, scored_set
from studio.views.common.paired import held_losses, paired

__all__ = [
    "BRANCHES", "EXAMPLES", "FEATURES", "FIRST", "LEARNERS", "ORDER_OF", "PRINTED", "SECOND", "came_to", "ended",
    "first_learners", "in_order", "is_image", "label_of", "labels", "last_f1", "pairs", "possible_learners",
    "predicted_rows", "settings", "structured", "symbols", "trained", "verdict", "why_not",
]  # fmt: skip

FIRST, SECOND = "Together", "Together, 2nd order"
FEATURES, BRANCHES = "BFV + network", "Two branches"
ORDER_OF = {FIRST: 1, SECOND: 2}
LEARNERS = {
    "tree": "Trees", "linear": "Linear", "network": "Network", "random_features": "Random features", "cnn": "CNN"
}  # fmt: skip
"""Kinds of learners in words."""
EXAMPLES = ("digits_table_and_pixels", "two_modalities")
"""Data sets that show the page best; both are always there."""
PRINTED = ("bayes", "fixed")
"""Steps of the paper: 2WL and 2WL_Fix."""
ALIKE = 0.005
"""F1 that is not worth a word."""
_BOTH = ("as_printed", "n_iterations", "step", "learning_rate", "subsample", "max_depth", "min_samples_leaf", "epochs",
         "random_state")  # fmt: skip
_SECOND = ("hessian", "inner_iterations")


# What can be trained --------------------------------------------------------------------------------------------------


def why_not(data: HetData) -> str:
    """Return in one sentence why data do not suit the page; empty if they do."""
    if data.target_kind is None or not data.labelled.any():
        return "There is nothing to learn from: the data have no label."
    if data.target_kind != "classification":
        return "The label of these data is a number, and this page tells classes apart."
    if len(np.unique(data.y[data.labelled].astype(str))) < 2:
        return "All labels of these data are the same class, so there is nothing to tell apart."
    if len(data.sources) < 2:
        return "These data have a single source: this page compares a table with images, text or a second table."
    if not (data.mask.sum(axis=0) > 1).any():
        return "The tables of these data describe different rows, and this page needs several sources of the same rows."
    return ""


def is_image(source: Source) -> bool:
    """Return whether a source holds pictures: (m, h, w), or (m, h, w, c) of one, three or four channels."""
    if source.array is None:
        return False
    return source.array.ndim == 3 or (source.array.ndim == 4 and source.array.shape[3] in (1, 3, 4))


def possible_learners(source: Source, deep: bool) -> list[str]:
    """Return which learners a source can have; `deep` says whether PyTorch is there, which "cnn" needs."""
    if source.array is not None:
        return ["network", "linear", "cnn"] if deep and is_image(source) else ["network", "linear"]
    return ["tree", "network", "linear"]


def first_learners(data: HetData) -> dict[str, str]:
    """Return the two sources to begin with, and their learners: a table with trees, then what a network reads.

    Pictures and arrays come before a table with text. Of tables alone the second has a network.
    """
    kinds = {name: default_learner(source) for name, source in data.sources.items()}
    trees = [name for name, kind in kinds.items() if kind == "tree"]
    # Arrays first among those that trees do not read, for the page is about unlike sources.
    others = sorted((name for name in kinds if name not in trees), key=lambda name: data.sources[name].array is None)
    first, second = [*trees[:1], *others, *trees[1:]][:2]
    return {first: kinds[first], second: "network"}


def in_order(data: HetData, names: Iterable[str]) -> list[str]:
    """Return sources in the order of their letters and colours: the two that suit first, whatever else is in use."""
    first = [*first_learners(data), *data.source_names]
    return sorted(names, key=first.index)


def trained(data: HetData, shown: Mapping[str, Setting]) -> dict[str, str]:
    """Return what learned from each source in use in some trainings, in order, "tree" where no model of them says.

    Parameters
    ----------
    data : HetData
    shown : mapping of str to Setting
        By label.
    """
    gone = {op["name"] for op in next(iter(shown.values())).operations if op["op"] == "drop_source"}
    given = {name: kind for each in shown.values() for name, kind in each.params.get("learners", {}).items()}
    used = in_order(data, (name for name in data.source_names if name not in gone))
    return {name: given.get(name, "tree") for name in used}


def structured(data: HetData, learners: Mapping[str, str]) -> str | None:
    """Return the table whose boosted feature vectors a network gets; None if there is no table in use."""
    tables = [name for name in learners if data.sources[name].array is None]
    return next((name for name in tables if learners[name] == "tree"), tables[0] if tables else None)


def labels(data: HetData, learners: Mapping[str, str]) -> list[str]:
    """Return the labels of all models that these sources can have, in the order of their colours."""
    alone = [_alone(name, learner) for name, learner in learners.items()]
    return [*alone, FIRST, SECOND, *([FEATURES, BRANCHES] if structured(data, learners) else [])]


def _alone(name: str, learner: str) -> str:
    # | parts labels in the address.
    return f"{LEARNERS[learner]} on {shown(name, 24).replace('|', '/')}"


def label_of(method: str, params: Mapping[str, Any]) -> str:
    """Return the label of a stored model by its class and parameters."""
    if method == "BoostedFeatureNetworkClassifier":
        return FEATURES if params.get("features") == "boosted" else BRANCHES
    if method == "OneWeakLearnerClassifier":
        return _alone(*next(iter(params["learners"].items())))
    return SECOND if params.get("order") == 2 else FIRST


def symbols(names: Sequence[str]) -> dict[str, str]:
    """Return the letter of each source's step: ε, δ, and for more sources ζ, η, θ, then numbered ones."""
    letters = ["ε", "δ", "ζ", "η", "θ"]
    return {name: letters[k] if k < len(letters) else f"θ{k - 3}" for k, name in enumerate(names)}


def settings(
    data: HetData,
    learners: Mapping[str, str],
    models: Sequence[str],
    params: Mapping[str, Any],
    operations: Sequence[Mapping[str, Any]],
) -> dict[str, Setting]:
    """Return the setting of each chosen model by label.

    Parameters
    ----------
    data : HetData
    learners : mapping of str to str
        "tree", "network" or "cnn" by source in use.
    models : sequence of str
        Of `labels`.
    params : mapping
        Parameters by name; each class is given those that it takes, "network_epochs" being those of the last two.
    operations : sequence of mappings
        See `studio.scenarios`; the sources that are not in use go besides.
    """
    gone = [{"op": "drop_source", "name": name} for name in data.source_names if name not in learners]
    # The choice of labels last, so that it is made on the sources that are in use.
    choosing = [operation for operation in operations if operation["op"] == "labels"]
    done = [*(dict(each) for each in operations if each not in choosing), *gone, *map(dict, choosing)]
    made = {_alone(name, learner): _one(name, learner, params) for name, learner in learners.items()}
    made |= {label: _joint(order, learners, params) for label, order in ORDER_OF.items()}
    table = structured(data, learners)
    made |= {} if table is None else {FEATURES: _network(table, "boosted", params)}
    made |= {} if table is None else {BRANCHES: _network(table, "raw", params)}
    return {label: Setting(*made[label], done) for label in made if label in models}


def _one(name: str, learner: str, params: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    own = {key: params[key] for key in _BOTH if key in params}
    return "OneWeakLearnerClassifier", {"source": name, "learners": {name: learner}} | own


def _joint(order: int, learners: Mapping[str, str], params: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    taken = (*_BOTH, *_SECOND) if order == 2 else _BOTH
    own = {key: params[key] for key in taken if key in params}
    return "TwoWeakLearnerClassifier", {"order": order, "learners": dict(learners)} | own


def _network(table: str, features: str, params: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    taken = ("fusion", "random_state", *(("n_stages",) if features == "boosted" else ()))
    own = {key: params[key] for key in taken if key in params}
    own |= {"n_iterations": params["network_epochs"]} if "network_epochs" in params else {}
    return "BoostedFeatureNetworkClassifier", {"table": table, "features": features} | own


# What came of it ------------------------------------------------------------------------------------------------------


def ended(event: RoundEnd) -> bool:
    """Return whether a round was the last of its training."""
    return event.index + 1 == event.total or bool(event.detail.get("ended"))


def last_f1(events: Events, frames: Mapping[str, pl.DataFrame] | None = None) -> dict[str, float]:
    """Return F1 by label: of the model's predictions where there are some, else after the round that is kept.

    The two differ: once boosting has ended, the sources are weighed on the rows that ended it.
    """
    scored = scored_set(events, "F1")
    last = {label: float(kept(each).detail["F1"][scored]) for label, each in events.items() if each}
    return last | {label: f1 for label, f1 in came_to(frames or {})["F1"].items() if label in last}


def came_to(frames: Mapping[str, pl.DataFrame]) -> dict[str, dict[str, float]]:
    """Return "F1" and "error" of the predictions of ended models, each by label."""
    rows = {label: predicted_rows(frame) for label, frame in frames.items()}
    measures = {"F1": macro_f1, "error": error_rate}
    return {name: {label: float(of(*each)) for label, each in rows.items()} for name, of in measures.items()}


def predicted_rows(frame: pl.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Return labels and predictions of the held-out rows, of the training rows where none is held out."""
    truth = "held_out" if "held_out" in frame.columns and frame["held_out"].count() else "label"
    scored = frame.filter(pl.col(truth).is_not_null())
    return scored[truth].to_numpy(), scored["prediction"].to_numpy()


def best_two(f1: Mapping[str, float]) -> tuple[str, str] | None:
    """Return the best model of a source alone and the best of several sources, None where one is missing."""
    joint = [label for label in f1 if label in (FIRST, SECOND, FEATURES, BRANCHES)]
    alone = [label for label in f1 if label not in joint]
    return (max(alone, key=f1.get), max(joint, key=f1.get)) if alone and joint else None


def pairs(events: Events, frames: Mapping[str, pl.DataFrame] | None = None) -> list[tuple[str, str]]:
    """Return the models to compare: the two of the verdict first, then each with the last, all sources together."""
    *others, last = f1 = last_f1(events, frames)
    first = [pair for pair in [best_two(f1)] if pair]
    return list(dict.fromkeys([*first, *((label, last) for label in others)]))


def verdict(events: Events, frames: Mapping[str, pl.DataFrame] | None = None) -> str:
    """Say in one sentence what the sources add to one another; empty where there is nothing to compare."""
    f1 = last_f1(events, frames)
    if (found := best_two(f1)) is None:
        return ""
    best, top = found
    gain = difference(f1[top], f1[best], 3)
    # Equal for whoever reads it, whatever the next digits say.
    if abs(gain) < ALIKE:
        came = f"{top} is no better than {best} by itself"
    else:
        came = f"{top} {'gains' if gain > 0 else 'loses'} {abs(gain):.3f} against {best}, the best one by itself"
    scores = ", ".join(f"{label} {value:.3f}" for label, value in f1.items())
    rows = SCORED[scored_set(events, "F1")]
    return f"F1, {rows}: {scores}. {came}.{_within_chance(frames or {}, best, top) if abs(gain) >= ALIKE else ''}"


def _within_chance(frames: Mapping[str, pl.DataFrame], best: str, top: str) -> str:
    """Say that the held-out errors of two models, of which F1 is made, are not told apart; empty where they are."""
    ours, theirs = held_losses(frames.get(top)), held_losses(frames.get(best))
    if ours is None or theirs is None or ours.size != theirs.size or paired(ours, theirs).less is not None:
        return ""
    return f" Within chance: their errors on {counted(ours.size, 'row')} differ by less than two standard errors."
