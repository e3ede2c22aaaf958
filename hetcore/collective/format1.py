"""Collective models of format 1 as those of today: what they knew is named anew, what they did not know is absent.

A model of hetcore 0.1 saw own columns and Rf1 to Rf4 alone: no column of neighbours' features or known labels, no trees
before the stages, no direction, no damping. As printed, its first messages came from the neighbours' targets, and from
then on it swept as by default; see `hetcore.collective.inference.Inference.begin_from_targets`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetcore.binning import BinMapper
from hetcore.errors import ModelFileError
from hetcore.forest import Forest

__all__ = ["is_of_format_1", "parameters_of_today", "state_of_today"]

OLD_PARAMS = {"linked", "as_printed", "weighted", "voice", "sweeps", "tol", "seed"}
NEIGHBORS = ("rf2", "rf3")


def is_of_format_1(meta: Mapping[str, Any], arrays: Mapping[str, NDArray]) -> bool:
    """Return whether a state is of hetcore 0.1; files of format 1 may also hold a state of today."""
    return "manner" in meta and "said" in arrays


def parameters_of_today(given: Mapping[str, Any], known: set[str], features: tuple[str, ...]) -> dict[str, Any]:
    """Return the parameters with which a model of today comes nearest to what a fit was then.

    Parameters
    ----------
    given : mapping
        Of the file.
    known : set of str
        Names of the class's parameters.
    features : tuple of str
        What the class sees of neighbours where that is no parameter.
    """
    renamed = {"inferred_weight" if name == "voice" else name: value for name, value in given.items()}
    if renamed.get("select_stages") is None:  # chosen by the features that are seen
        renamed["select_stages"] = not set(NEIGHBORS) & set(renamed.get("features", features))
    # what None stood for then
    if renamed.get("min_samples_leaf") is None and not renamed.get("as_printed"):
        renamed["min_samples_leaf"] = 10
    return renamed | ({"hops": 0} if "hops" in known else {})


def state_of_today(
    meta: Mapping[str, Any], arrays: Mapping[str, NDArray], task: str
) -> tuple[dict[str, Any], dict[str, NDArray]]:
    """Return plain values and arrays that `CollectiveModel.from_state` takes; it checks all that is kept.

    Raises
    ------
    ModelFileError
        If the state is none of hetcore 0.1.
    """
    old_params, width, K = meta["manner"], meta["n_own"], max(1, len(meta["scale"]["classes"]))
    printed = isinstance(old_params, dict) and old_params.get("as_printed") is True
    known = isinstance(old_params, dict) and set(old_params) == OLD_PARAMS
    # checked before it is used: a width makes an array below
    if not known or type(width) is not int or not 0 <= width <= 1 << 20:
        raise ModelFileError("The model file's way to infer is not known: save the model again.")
    if printed and task == "classification":
        raise ModelFileError("The model file has classes as printed, which the paper has not: save the model again.")
    how = {name: old_params[name] for name in ("linked", "weighted", "sweeps", "tol", "seed")}
    how |= {"as_printed": False, "residuals": False, "estimate": "first", "direction": "both", "damping": 0.0}
    how |= {"inferred_weight": old_params["voice"], "start": "targets" if printed else "stages"}
    columns = {"sources": meta["sources"], "feature_hops": 0, "label_hops": 0}
    kept = {name: meta[name] for name in ("scale", "graphs", "ids", "smear", "n_iterations", "task")}
    today = kept | {"columns": columns, "aggregation": meta["rules"], "how": how}
    return today, _arrays(arrays, width, K)


def _arrays(arrays: Mapping[str, NDArray], width: int, n_outputs: int) -> dict[str, NDArray]:
    kept = {"messages" if name == "said" else name: array for name, array in arrays.items()}
    # bins and trees of no column: the arrays of today's format, with nothing in them
    none = BinMapper().fit(np.empty((1, 0), np.float32))
    kept |= {f"label_bins:{name}": array for name, array in none.to_arrays().items()}
    kept |= {f"base:{name}": array for name, array in Forest(n_outputs).to_arrays().items()}
    return kept | {"components": np.empty((width, 0), np.float32)}
