"""What may be added to Algorithm 1 as printed: four helps, each by itself.

With all four at their defaults `as_printed=True` is the paper's algorithm; with any of them it is the *tempered* arm of
the experiments. None of them touches the default method.
"""

from __future__ import annotations

from hetcore.parameters import Declared, Flag, Interval, param

__all__ = ["Tempering"]


class Tempering(Declared):
    """The helps, parameters of `GBCClassifier` and `GBCRegressor`."""

    shrinkage: float = param(
        1.0,
        Interval(0, 1, "(]", "1 takes the whole step of the line search, as printed"),
        "As printed, the share of the line search's step that is taken; 1 is the paper's.",
    )
    relative_lambda: bool = param(
        False,
        Flag(),
        "As printed, whether the sums of lambda0 and lambda1 are scaled to as many rows as are labelled; the paper's "
        "sums grow with the unlabelled rows.",
    )
    clamp_neighbors: bool = param(
        False, Flag(), "As printed, whether a labelled neighbour counts with its label, not its prediction."
    )
    left_out_weights: bool = param(
        False,
        Flag(),
        "As printed, whether a third of the labelled rows, drawn anew each round, trains nothing in it and sets the "
        "weights (4.10); the paper takes the training loss.",
    )
