"""The transfer classifier to start with: as much transfer as the target's left-out rows ask for."""

from __future__ import annotations

from typing import Any

from hetcore.methods.transfer_frame import TransferEstimator, is_finite, one_of

__all__ = ["TransferClassifier"]


class TransferClassifier(TransferEstimator):
    """As much transfer as helps: models from target only to all sources, blended by the target's leave-one-out error.

    Parameters
    ----------
    kernel : {"linear", "rbf"}, default="linear"
        a.b, or exp(-gamma |a - b|^2).
    gamma : float or "scale", default="scale"
        Of the RBF kernel, above 0; "scale" is 1 / (columns * variance of all cells).
    C : float, default=1.0
        Cost of errors, above 0.
    domain_names : list of str, optional
        Name of source 1, 2, ...; by default "1", "2", ....
    random_state : int or None, default=0
        Seed of folds.

    Notes
    -----
    A `RoundEnd` comes after every candidate: `source_weights`: the share of all weight that each source has in the blend
    so far, with "target_mass" they sum to 1; detail: "metric_name" = "error", "metric" = {"train", "left_out",
    "held_out"}; "candidate": its name, "candidate_error": its own leave-one-out error, "blend" = {candidate: weight}.
    """

    _rules = (
        one_of("kernel", "linear", "rbf"),
        ("gamma", lambda v: v == "scale" if isinstance(v, str) else is_finite(v) and v > 0, "'scale' or above 0"),
        ("C", lambda v: is_finite(v) and v > 0, "a finite number above 0"),
    )

    def __init__(
        self,
        *,
        kernel: str = "linear",
        gamma: float | str = "scale",
        C: float = 1.0,
        domain_names: list[str] | None = None,
        random_state: int | None = 0,
    ) -> None:
        self.kernel, self.gamma, self.C = kernel, gamma, C
        self.domain_names, self.random_state = domain_names, random_state

    def _start(self, problem: Any) -> Any:
        raise NotImplementedError
