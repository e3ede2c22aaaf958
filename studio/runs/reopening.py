"""What opens a stored run again: its page, the data operations before the page's own, the values of its controls.

A page that can be reopened has a file in `FILES`, its own operations in `ORDER` (last ones first) and the keys of its
controls by parameter in `KEYS`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from studio.runs.run import Run
from studio.runs.table import example_of
from studio.state import SWITCHED
from studio.views.transfer.domains import ALL, METHODS, NONE
from studio.views.two_learners.settings import label_of

__all__ = ["FILES", "controls", "operations", "page_file", "screen", "why_not"]

FILES = {
    "Consensus": "pages/2_Consensus.py", "Collective": "pages/3_Collective.py", "Noise": "pages/5_Noise.py",
    "Transfer": "pages/4_Transfer.py", "Two learners": "pages/6_Two_learners.py",
}  # fmt: skip
ORDER = {
    "Consensus": ("labels", "drop_graph", "drop_source", "noise"),
    "Collective": ("labels",),
    "Noise": ("label_noise", "flip_labels", "labels"),
    "Transfer": ("flip_source_labels", "target_labels", "one_class", "drop_source"),
    "Two learners": ("labels", "drop_source"),
}
EDITS = ("edges", "forget_labels")
"""Operations that the Collective page does after its own, in any order."""
EDITED, EDITS_TRAINED = "collective edits ", "edits trained"
"""Keys of the edits, before the digest of their data, and of whether they are trained on."""
SINGLE = ("labels", "noise", "label_noise", "flip_labels", "flip_source_labels", "target_labels", "one_class")
"""Operations that a page does once at most."""
FACTORS = {
    "n_iterations": "epochs", "n_factors": "factors", "n_deviation_factors": "noisy", "learning_rate": "rate",
    "regularisation": "penalty", "patience": "patience", "as_printed": "printed", "random_state": "seed",
}  # fmt: skip
KEYS: dict[str, dict[str, str]] = {
    "Consensus": {
        "lambda0": "l0", "lambda1": "l1", "learning_rate": "rate", "n_iterations": "rounds", "max_depth": "depth",
        "random_state": "seed", "as_printed": "printed",
    },
    "Collective": {
        "n_iterations": "stages", "learning_rate": "shrinkage", "max_depth": "levels", "leaf": "leaf",
        "first_trees": "first", "trees_per_stage": "trees", "summary": "summary", "random_state": "split",
        "direction": "direction",
    },
    "Noise Table": {
        "n_iterations": "noise_rounds", "learning_rate": "noise_rate", "deviation_rate": "noise_deviation_rate",
        "max_leaf_nodes": "noise_leaves",
        "as_printed": "noise_printed", "random_state": "table_seed",
    },
    "Transfer": {
        "n_iterations": "transfer_rounds", "max_depth": "transfer_depth", "random_state": "transfer_seed",
        "update": "update",
    },
    "Two learners": {
        "step": "two_step", "learning_rate": "two_rate", "subsample": "two_share", "hessian": "two_hessian",
        "inner_iterations": "two_inner", "max_depth": "two_depth", "min_samples_leaf": "two_leaf",
        "epochs": "two_epochs", "n_stages": "two_stages", "fusion": "two_fusion", "random_state": "two_seed",
    },
    "Noise Matrix": {name: f"matrix_{key}" for name, key in FACTORS.items()},
    "Noise Tensor": {name: f"tensor_{key}" for name, key in FACTORS.items()},
}  # fmt: skip
SIZES = ("noise_rounds", "noise_rate", "noise_deviation_rate", "noise_leaves")
"""Controls of the Noise page that numbers and classes have each."""
CHOSEN = ("methods", "two_models")
"""Keys of the controls that say which methods are trained."""
Screen = tuple[dict[str, Any], list[dict[str, Any]]]
"""Values of a page's controls by their keys, and the operations on the data before the page's own."""
MODES = {
    "HGBMClassifier": "Table", "HGBMRegressor": "Table", "HMF": "Matrix", "MatrixFactorization": "Matrix",
    "HTF": "Tensor", "TensorFactorization": "Tensor",
}  # fmt: skip
"""Of the Noise page, by method."""


def page_file(run: Run) -> str:
    """Return the file of the page that opens a run again."""
    # A run of a page that is gone still has data and settings that the first page can show.
    return FILES.get(run.page, FILES["Consensus"])


def why_not(run: Run, recipe: Mapping[str, Any], kept: bool = False) -> str:
    """Return why a run cannot be opened again, empty if it can.

    Parameters
    ----------
    run : Run
    recipe : mapping
        Of the data in use, see `studio.recipes`.
    kept : bool
        Whether its files are kept.
    """
    # An example is always there; files must be kept or be the ones in use.
    if kept or example_of(run) or run.settings.get("data") == recipe:
        return ""
    return "Its files are no longer kept here: upload them again on the Data page, then reopen."


def operations(run: Run) -> list[dict[str, Any]]:
    """Return the operations that were done on the data before the page's own."""
    return _parted(run)[0]


def controls(run: Run, title: str, sources: Sequence[str], graphs: Sequence[str]) -> dict[str, Any]:
    """Return the values of the page's controls by their keys.

    Parameters
    ----------
    run : Run
    title : str
        Of the data in use.
    sources, graphs : sequences of str
        Names in the data in use.
    """
    own = _parted(run)[1]
    if run.page == "Noise":
        return _noise(run, own)
    if run.page == "Collective":
        return _collective(run, title, own)
    if run.page == "Transfer":
        return _transfer(run, sources, own)
    if run.page == "Two learners":
        return _two_learners(run, title, sources, own)
    values = _params(run, "Consensus")
    values = {key: value for key, value in values.items() if value != "auto"}  # a switch says so, not the slider
    params = run.settings.get("params", {})
    values |= {"l1auto": params.get("lambda1", "auto") == "auto", "l0auto": params.get("lambda0") == "auto"}
    gone = {operation["name"] for operation in own if operation["op"].startswith("drop_")}
    whole = bool(run.settings.get("whole"))
    graphs = list(run.settings["data"]["scan"]["graphs"]) if whole else graphs
    values |= {"whole": whole} if "scan" in (run.settings.get("data") or {}) else {}
    values[f"sources {title}"] = [name for name in sources if name not in gone]
    values[f"graphs {title}"] = [name for name in graphs if name not in gone]
    values["known"], values[f"noisy {title}"] = 100, "none"
    for operation in own:
        if operation["op"] == "labels":
            values["known"] = round(100 * operation["fraction"])
        elif operation["op"] == "noise":
            values |= {f"noisy {title}": operation["name"], "sd": operation["sd"]}
    return values


def screen(runs: Sequence[Run], title: str, sources: Sequence[str], graphs: Sequence[str]) -> Screen:
    """Return what the controls were when several runs of a page were trained together, and the operations before.

    Parameters
    ----------
    runs : sequence of Run
        Of one page.
    title, sources, graphs
        As for `controls`.
    """
    values: dict[str, Any] = {}
    for run in runs:
        found = controls(run, title, sources, graphs)
        # Each run knows its own method; the page had chosen all of them.
        for name in set(CHOSEN) & set(found):
            found[name] = list(dict.fromkeys([*values.get(name, []), *found[name]]))
        values |= found
    return values, operations(runs[0]) if runs else []


def _params(run: Run, table: str) -> dict[str, Any]:
    params = run.settings.get("params", {})
    return {key: params[name] for name, key in KEYS[table].items() if params.get(name) is not None}


def _collective(run: Run, title: str, own: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the values of the Collective page's controls, and its edits."""
    params, printed = run.settings.get("params", {}), bool(run.settings.get("params", {}).get("as_printed"))
    # Keys have the mode or the data's name in them, as the controls do: Streamlit keeps a value by its key.
    values = _params(run, "Collective") | {"to the letter": printed, "log": params.get("target_transform") == "log"}
    # Not of plain boosting, which has none: of several runs the one that has it says it.
    values |= {f"fill {printed}": params["no_neighbor"]} if params.get("no_neighbor") else {}
    values[f"collective graphs {title}"] = list(run.settings.get("fit", {}).get("graph", ()))
    if len(params.get("features", ())) > 1:
        values["rf"] = list(params["features"])
    chosen = [operation for operation in own if operation["op"] == "labels"]
    values["share"] = round(100 * chosen[0]["fraction"]) if chosen else 100
    edits = [dict(operation) for operation in own if operation["op"] in EDITS]
    return values | {f"{EDITED}{run.digest}": edits_text(edits), EDITS_TRAINED: bool(edits)}


def edits_text(edits: Sequence[Mapping[str, Any]]) -> str:
    """Return edits of a network as the session and an address hold them."""
    return json.dumps(list(edits), ensure_ascii=False, separators=(",", ":"))


def _transfer(run: Run, sources: Sequence[str], own: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the values of the Transfer page's controls; the run's method alone is chosen."""
    params, done = run.settings.get("params", {}), {operation["op"]: operation for operation in own}
    target = run.settings.get("form", {}).get("target")
    gone = {target, *(operation["name"] for operation in own if operation["op"] == "drop_source")}
    names = [name for name, method in METHODS.items() if method.estimator == run.method]
    values = _params(run, "Transfer") | {"target": target, "methods": names, "class": ALL, "corrupted": NONE}
    values["teachers"] = [name for name in sources if name not in gone]
    if "target_labels" in done:
        values |= {"examples": done["target_labels"]["count"], "transfer_seed": done["target_labels"]["seed"]}
    if "one_class" in done:
        values["class"] = done["one_class"]["label"]
    if flipped := done.get("flip_source_labels"):
        values |= {"corrupted": flipped["name"], "corrupted_share": round(100 * flipped["share"])}
    if "eta" in params:
        by_hand = not isinstance(params["eta"], str)
        values |= {"eta_rule": "by hand", "eta": float(params["eta"])} if by_hand else {"eta_rule": params["eta"]}
        values["eta_on"] = params.get("eta_on") or "as usual"
    return values


def _two_learners(run: Run, title: str, sources: Sequence[str], own: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the values of the Two learners page's controls; the run's model alone is chosen."""
    params, done = run.settings.get("params", {}), [operation["op"] for operation in own]
    gone = {operation["name"] for operation in own if operation["op"] == "drop_source"}
    values = _params(run, "Two learners") | {"two_models": [label_of(run.method, params)]}
    values["two_printed"] = bool(params.get("as_printed"))
    values |= {"two_printed_step": params["step"]} if values["two_printed"] and "step" in params else {}
    rounds = "two_network_epochs" if run.method == "BoostedFeatureNetworkClassifier" else "two_rounds"
    values |= {rounds: params["n_iterations"]} if "n_iterations" in params else {}
    values[f"modalities {title}"] = [name for name in sources if name not in gone]
    values |= {f"learner {title} {name}": learner for name, learner in (params.get("learners") or {}).items()}
    known = own[done.index("labels")]["fraction"] if "labels" in done else 1.0
    return values | {"two_known": round(100 * known)}


def _noise(run: Run, own: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the values of the Noise page's controls."""
    mode = MODES[run.method]
    values = {"mode": mode} | _params(run, f"Noise {mode}")
    # A switch says "auto", not the slider, also of a run from before there was a switch.
    values = {name: value for name, value in values.items() if value != "auto"}
    key, params = mode.lower(), run.settings.get("params", {})
    if mode == "Table":
        kind = "classification" if run.method == "HGBMClassifier" else "regression"
        # Numbers and classes have controls of their own.
        values = {f"{name}_{kind}" if name in SIZES else name: value for name, value in values.items()}
        values |= {f"weighting_{kind}": params.get("weighting")}
        if (share := params.get("column_sample", 1.0)) != "auto":
            values[f"noise_columns_{kind}"] = round(100 * share)
        if kind == "classification":
            values["noise_leaves_classificationauto"] = params.get("max_leaf_nodes", "auto") == "auto"
    if mode == "Matrix":
        behind = {name: f"matrix_{key}" for name, key in FACTORS.items() if f"matrix_{key}" in SWITCHED}
        values |= {f"{key}auto": params.get(name, "auto") == "auto" for name, key in behind.items()}
        values |= dict(zip(("matrix_users", "matrix_items"), run.settings.get("form", {}).get("columns", ())))
    values |= {"flipped": 0, f"{key}_disturbed": 0}
    for operation in own:
        if operation["op"] == "labels":
            values[f"{key}_known"] = round(100 * operation["fraction"])
        elif operation["op"] == "flip_labels":
            values["flipped"] = round(100 * operation["share"])
        else:
            values |= {f"{key}_disturbed": round(100 * operation["share"]), f"{key}_sd": operation["sd"]}
    # None is no value of a control.
    return {name: value for name, value in values.items() if value is not None}


def _parted(run: Run) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the operations before the page's own, and those."""
    # From the end backwards: a page's own operations come last, what-ifs before them.
    given = list(run.settings.get("operations") or ())
    end = len(given)
    # Edits come in any order and any number, so that they are taken as one block.
    while run.page == "Collective" and end and given[end - 1]["op"] in EDITS:
        end -= 1
    for op in ORDER.get(run.page, ORDER["Consensus"]):
        while end and given[end - 1]["op"] == op and not _other_draw(run, given[end - 1]):
            end -= 1
            # A second one was not done by the page, so it belongs to what was there before.
            if op in SINGLE:
                break
    return given[:end], given[end:]


def _other_draw(run: Run, operation: Mapping[str, Any]) -> bool:
    """Return whether noise was drawn by another seed than the page's, which it has from the run's parameters."""
    seed = run.settings.get("params", {}).get("random_state", 0)
    return operation["op"] == "noise" and operation.get("seed", 0) != seed
