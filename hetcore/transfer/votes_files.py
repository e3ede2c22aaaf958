"""Boosted transfer models as plain values and arrays, and back: trees over one binning, or ridge machines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetcore.binning import BinMapper
from hetcore.errors import ModelFileError, ParameterError
from hetcore.schema import Array, block, checked
from hetcore.transfer.files import common_from_state, common_state
from hetcore.transfer.learners import TreeVotes
from hetcore.transfer.linear_learner import MOST_COMPONENTS, LinearVotes, Projection

__all__ = ["votes_from_state", "votes_state"]


def votes_state(model: Any) -> tuple[dict[str, Any], dict[str, NDArray]]:
    """Return a boosted transfer model as values and arrays.

    Raises
    ------
    ParameterError
        If its learners are foreign.
    """
    meta = common_state(model)
    if model.estimator is not None:
        name = type(model.estimator).__name__
        raise ParameterError(
            f"A model with estimator={name} can't be saved: only learners of our own are plain numbers; "
            "fit with estimator=None to save."
        )
    first = model._votes[0]
    meta["learner"] = "linear" if isinstance(first, LinearVotes) else "tree"
    arrays = _shared(first)
    for k, votes in enumerate(model._votes):
        held = votes.to_arrays() if isinstance(votes, LinearVotes) else votes.forest.to_arrays()
        arrays |= {f"{k}:{name}": array for name, array in held.items()}
    return meta, arrays


def _shared(votes: TreeVotes | LinearVotes) -> dict[str, NDArray]:
    if isinstance(votes, TreeVotes):
        return {f"bins:{name}": array for name, array in votes.mapper.to_arrays().items()}
    held = votes.projection
    return {"centre": held.centre, "scale": held.scale, "axes": held.axes}


def votes_from_state(model: Any, meta: Mapping[str, Any], arrays: Mapping[str, NDArray], soft: bool = False) -> None:
    """Set what `votes_state` returned.

    Raises
    ------
    ModelFileError
        If it does not fit together.
    """
    common_from_state(model, meta)
    n_problems = 1 if len(model.classes_) == 2 else len(model.classes_)
    blocks = [block(arrays, str(k)) for k in range(n_problems)]
    if meta.get("learner", "tree") == "linear":
        projection = _projection(model, arrays)
        model._votes = [LinearVotes.from_arrays(projection, each) for each in blocks]
        return
    mapper = BinMapper.from_arrays(block(arrays, "bins"))
    if mapper.n_bins.size != model.n_features_in_:
        raise ModelFileError("The bins of the model file are not those of its columns: save the model again.")
    model._votes = [TreeVotes.from_arrays(mapper, each, soft) for each in blocks]


PROJECTION = {"centre": Array("d"), "scale": Array("d", low=0), "axes": Array("d m")}


def _projection(model: Any, arrays: Mapping[str, NDArray]) -> Projection:
    d = model.n_features_in_
    centre, scale, axes = checked(PROJECTION, {}, arrays, {"d": d}).values()
    if d <= MOST_COMPONENTS and not np.array_equal(axes, np.eye(d)):
        raise ModelFileError("The projection of the model file is none of its columns: save the model again.")
    return Projection(centre, scale, axes)
