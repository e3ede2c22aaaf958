r"""Multi-KT: an LS-SVM on the target that starts from a sum of the sources' models (Tommasi, Orabona, Caputo 2010)."""

from __future__ import annotations

from typing import Any

from hetcore.methods.transfer_frame import TransferEstimator, is_finite, one_of

__all__ = ["MultiKTClassifier"]


class MultiKTClassifier(TransferEstimator):
    """Multi-KT: each source's model is a prior that counts beta_j, and beta comes from the target's leave-one-out.

    Parameters
    ----------
    kernel : {"linear", "rbf"}, default="linear"
        a.b, or exp(-gamma |a - b|^2).
    gamma : float or "scale", default="scale"
        Of the RBF kernel, above 0; "scale" is 1 / (columns * variance of all cells).
    C : float, default=1.0
        Cost of the target's errors, above 0.
    domain_names : list of str, optional
        Name of source 1, 2, ...; by default "1", "2", ....

    Notes
    -----
    A closed form has no rounds: one `RoundEnd` comes at the end. `source_weights`: the share of the beta that each source
    has (with "target_mass" they sum to 1); detail: "metric_name" = "error", "metric" = {"train", "left_out",
    "held_out"}, where "left_out" is the closed-form leave-one-out error; "beta" = {source: beta_j}, a mean over classes.
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
