"""Twin of `hetcore.kernels.boosted_votes`: one round after the other, one candidate after the other, in NumPy."""

from __future__ import annotations

from hetcore.transfer.rounds import Boosting


def boost_votes(given, n_rounds):
    """Return the boosting, made of the arguments of `Boosting`, after some rounds."""
    boosting = Boosting(**given)
    for _ in range(n_rounds):
        if boosting.round():
            break
    return boosting
