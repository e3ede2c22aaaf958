"""No transfer: a support vector machine on the target's rows alone."""

from __future__ import annotations

from typing import Any

from hetcore.methods.transfer_frame import TransferEstimator, is_finite, one_of

__all__ = ["TargetSVM"]


class TargetSVM(TransferEstimator):
    """No transfer: a support vector machine on the target's rows; sources are passed over.

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

    Notes
    -----
    One `RoundEnd` comes at the end; detail: "metric_name" = "error", "metric" = {"train", "held_out"}, "target_mass" = 1.
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
    ) -> None:
        self.kernel, self.gamma, self.C, self.domain_names = kernel, gamma, C, domain_names

    def _start(self, problem: Any) -> Any:
        raise NotImplementedError
