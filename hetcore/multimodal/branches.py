"""The inputs of BFV+DNN's network: one branch for each source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetcore.data import HetData
from hetcore.multimodal.boosted_vectors import BoostedFeatures, RawFeatures
from hetcore.multimodal.learners import Inputs
from hetcore.parameters import Domain
from hetcore.schema import Array, Part, Stored

__all__ = ["Branch"]


@dataclass
class Branch(Stored):
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

    _stored = {
        "name": Domain(lambda v: isinstance(v, str), "text"),
        "features": Part({"boosted": BoostedFeatures, "raw": RawFeatures, "inputs": Inputs}, "d=c", at="", inline=True),
        "centre": Array("d", np.float32, optional=True), "scale": Array("d", np.float32, optional=True),
    }  # fmt: skip

    name: str
    features: BoostedFeatures | RawFeatures | None = None
    inputs: Inputs | None = None
    centre: NDArray | None = None
    scale: NDArray | None = None

    def _held(self) -> dict[str, Any]:
        # inputs stand for features in the file, where a branch has no features of its own
        return super()._held() | ({} if self.inputs is None else {"features": self.inputs})

    @classmethod
    def _made(cls, values: dict[str, Any], sizes: dict[str, int]) -> Branch:
        if isinstance(values["features"], Inputs):
            return cls(values["name"], inputs=values["features"])
        return cls(**values)

    def _fault(self, sizes: dict[str, int]) -> str:
        scaled = self.centre is not None and self.scale is not None
        return "" if self.inputs is not None or scaled else "The model file lacks the scale of a branch's numbers"

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
            # rows that the source lacks stay 0, with the mask to say so
            if self.inputs is not None:
                x[rows] = self.inputs.transform(source, self.name)
            else:
                x[rows] = self.scaled(self.features.transform(source, self.name))
        return x, mask

    def scaled(self, features: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return features (m, d) of the table as the network takes them, 0 where missing."""
        return np.nan_to_num((features - self.centre) * self.scale, nan=0.0)
