"""The inputs of BFV+DNN's network: one branch for each source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetcore.data import HetData
from hetcore.data.encoding import SourceEncoder
from hetcore.errors import ModelFileError
from hetcore.multimodal.boosted_vectors import BoostedFeatures, RawFeatures
from hetcore.multimodal.learners import Inputs
from hetcore.schema import block

__all__ = ["Branch", "branch_from", "branch_state"]


@dataclass
class Branch:
    """One input of the network.

    Attributes
    ----------
    name : str
        Of the source.
    features : BoostedFeatures or RawFeatures or None
        What makes the table's branch; None for another source, which `inputs` reads.
    inputs : Inputs or None
    centre, scale : (d,) float32 or None
        Of the table's branch.
    """

    name: str
    features: BoostedFeatures | RawFeatures | None = None
    inputs: Inputs | None = None
    centre: NDArray | None = None
    scale: NDArray | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of a row."""
        if self.inputs is not None:
            return self.inputs.shape or (len(self.inputs.centre),)
        return (len(self.centre),)

    def read(self, data: HetData) -> tuple[NDArray, NDArray]:
        """Return the input (n, ...) and who has it (n, 1), zeros for an instance without."""
        x, mask = np.zeros((data.n, *self.shape), np.float32), np.zeros((data.n, 1), np.float32)
        if self.name in data.sources:
            rows, source = data.rows(self.name), data.sources[self.name]
            mask[rows] = 1.0
            x[rows] = self.inputs.transform(source) if self.inputs is not None else self._scaled(source)
        return x, mask

    def _scaled(self, source: Any) -> NDArray[np.float32]:
        return np.nan_to_num((self.features.transform(source) - self.centre) * self.scale, nan=0.0)


def branch_state(branch: Branch) -> tuple[dict[str, Any], dict[str, NDArray]]:
    """Return a branch as a JSON-able dict and arrays."""
    if branch.features is not None:
        meta, arrays = branch.features.to_state()
        return {"name": branch.name, **meta}, arrays | {"centre": branch.centre, "scale": branch.scale}
    meta, arrays = branch.inputs.encoder.to_state()
    own = {"centre": branch.inputs.centre, "scale": branch.inputs.scale}
    state = {"name": branch.name, "kind": "inputs", "encoder": meta, "shape": list(branch.inputs.shape)}
    return state, {f"encoder:{key}": array for key, array in arrays.items()} | own


def branch_from(meta: dict[str, Any], arrays: dict[str, NDArray]) -> Branch:
    """Rebuild a branch; raises ModelFileError at anything that does not fit together."""
    centre, scale = arrays["centre"], arrays["scale"]
    good = centre.ndim == 1 and centre.shape == scale.shape and centre.dtype == scale.dtype == np.float32
    if not good or not (np.isfinite(centre).all() and np.isfinite(scale).all()) or not isinstance(meta["name"], str):
        raise ModelFileError("The scale of a branch's numbers in the model file is wrong: save the model again.")
    if meta["kind"] != "inputs":
        made = {"boosted": BoostedFeatures, "raw": RawFeatures}[meta["kind"]].from_state(meta, arrays)
        return Branch(meta["name"], made, None, centre, scale)
    encoder, shape = SourceEncoder.from_state(meta["encoder"], block(arrays, "encoder")), tuple(meta["shape"])
    if len(encoder.feature_names) != len(centre) or (shape and int(np.prod(shape)) != len(centre)):
        raise ModelFileError("The numbers of a branch in the model file do not fit its columns: save the model again.")
    return Branch(meta["name"], None, Inputs(encoder, centre, scale, shape))
