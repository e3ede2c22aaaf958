"""What one does without a method for heterogeneous data: the peers that the methods are measured by.

`PEERS` makes each peer of the open suite by name: `PEERS["CatBoost2hop"]("classification", seed=0).fit(data, y)`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hetcore.baselines.graph_network import GraphConvolutionalNetwork
from hetcore.baselines.joined import JoinedCatBoost, JoinedHistogramBoosting, JoinedLinear, JoinedSupportVectors
from hetcore.baselines.peers import (
    JoinedGBDT,
    JoinedSVM,
    NeighborMeansGBDT,
    SelfTrainedGBDT,
    SelfTrainedSVM,
    TargetSVM,
)
from hetcore.baselines.spreading import CorrectAndSmooth, LabelPropagation, SimpleGraphConvolution
from hetcore.baselines.stacking import Stack
from hetcore.data.text import shown
from hetcore.errors import ParameterError

__all__ = [
    "PEERS",
    "CorrectAndSmooth",
    "GraphConvolutionalNetwork",
    "JoinedCatBoost",
    "JoinedGBDT",
    "JoinedHistogramBoosting",
    "JoinedLinear",
    "JoinedSVM",
    "JoinedSupportVectors",
    "LabelPropagation",
    "NeighborMeansGBDT",
    "SelfTrainedGBDT",
    "SelfTrainedSVM",
    "SimpleGraphConvolution",
    "Stack",
    "TargetSVM",
]


def _maker(method: type, seeded: bool = True, **params: Any) -> Callable[[str, int], Any]:
    def make(task: str, seed: int = 0) -> Any:
        if not (isinstance(task, str) and task in ("classification", "regression")):
            raise ParameterError(f"task={shown(task)} is none: give 'classification' or 'regression'.")
        return method(**params, random_state=seed) if seeded else method(**params)

    return make


PEERS: dict[str, Callable[[str, int], Any]] = {
    "CatBoost": _maker(JoinedCatBoost),
    "CatBoost1hop": _maker(JoinedCatBoost, hops=1),
    "CatBoost2hop": _maker(JoinedCatBoost, hops=2),
    "HGB": _maker(JoinedHistogramBoosting),
    "HGB1hop": _maker(JoinedHistogramBoosting, hops=1),
    "HGB2hop": _maker(JoinedHistogramBoosting, hops=2),
    "SVM": _maker(JoinedSupportVectors),
    "Linear": _maker(JoinedLinear),
    "LabelPropagation": _maker(LabelPropagation, seeded=False),
    "SGC": _maker(SimpleGraphConvolution),
    "CorrectAndSmooth": _maker(CorrectAndSmooth),
    "Stack": _maker(Stack),
    "GCN": _maker(GraphConvolutionalNetwork),
}
"""A new peer by name, for a task ("classification" or "regression") and a seed, by default 0."""
