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

PEERS: dict[str, Callable[[str, int], Any]] = {
    "CatBoost": lambda task, seed: JoinedCatBoost(random_state=seed),
    "CatBoost1hop": lambda task, seed: JoinedCatBoost(hops=1, random_state=seed),
    "CatBoost2hop": lambda task, seed: JoinedCatBoost(hops=2, random_state=seed),
    "HGB": lambda task, seed: JoinedHistogramBoosting(random_state=seed),
    "HGB1hop": lambda task, seed: JoinedHistogramBoosting(hops=1, random_state=seed),
    "HGB2hop": lambda task, seed: JoinedHistogramBoosting(hops=2, random_state=seed),
    "SVM": lambda task, seed: JoinedSupportVectors(random_state=seed),
    "Linear": lambda task, seed: JoinedLinear(random_state=seed),
    "LabelPropagation": lambda task, seed: LabelPropagation(),
    "SGC": lambda task, seed: SimpleGraphConvolution(random_state=seed),
    "CorrectAndSmooth": lambda task, seed: CorrectAndSmooth(random_state=seed),
    "Stack": lambda task, seed: Stack(random_state=seed),
    "GCN": lambda task, seed: GraphConvolutionalNetwork(random_state=seed),
}
"""A new peer by name, for a task ("classification" or "regression") and a seed."""
