"""What one does without a method for heterogeneous data: the peers that the methods are measured by."""

from hetcore.baselines.peers import (
    JoinedGBDT,
    JoinedSVM,
    NeighborMeansGBDT,
    SelfTrainedGBDT,
    SelfTrainedSVM,
    TargetSVM,
    joined_features,
)

__all__ = [
    "JoinedGBDT",
    "JoinedSVM",
    "NeighborMeansGBDT",
    "SelfTrainedGBDT",
    "SelfTrainedSVM",
    "TargetSVM",
    "joined_features",
]
