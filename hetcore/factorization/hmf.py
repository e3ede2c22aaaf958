r"""Factorization of ratings and of sensor tensors, with a learned deviation for every entry: MF, HMF, PTF, HTF.

Rating y_ij of item j by user i, of which few are observed:

    1  y_ij = mu + b_i + c_j + U_i . V_j + sigma_ij noise                                                  (11), (15)
    2  sigma_ij^2 = P_i . Q_j + Delta,  P, Q >= 0                                                                (12)
    3  minimise over the observed  (y - f)^2 / (2 sigma^2) + ln(sigma^2) / 2
           + lambda/2 |U, V, b, c|^2 + lambda' sum(P, Q)                                             (13), (14), (16)
    4  for each epoch, for each observed entry in random order: one step along the gradient, AdaGrad, P, Q projected

With three modes the products have three factors (PARAFAC). `MatrixFactorization` and `TensorFactorization` are the same
kernel without lines 2: sigma = 1.

| symbol | here |
|---|---|
| U, V, (W) | `factors_`, one array per mode |
| b, c, (d) | `biases_`, one array per mode |
| P, Q, (R), Delta | `deviation_factors_`, `base_variance` |
| lambda | `regularisation`, `bias_regularisation` |
| lambda' | `deviation_regularisation` with `as_printed=True` |

As printed, (16) has each prior once for a code: a visit of one of its n entries brings 1/n of it. Lambda is 1 /
sigma_U^2 then, in units of y, and has to be chosen (the paper chooses it on a validation part), as have K, about 100
in the paper, and Delta. AdaGrad has a sum for every cell, from (nearly) zero. The text says nothing of how P and Q
start: here from the variance of y; nor of the order: here by blocks.

Departures of the default from the paper (`as_printed=True` does without them)
------------------------------------------------------------------------------
- A model that has memorised a rating has no error left there, calls it sure, and memorises it the more. So deviations
  are learned from the errors of the first epochs (`deviation_epochs`), while those still tell noise, or from errors on
  entries left out (`deviation_folds`), and then stand.
- The exponential prior pulls sigma^2 to its least value Delta, whoever has few ratings first. Here the pull is to the
  common variance, with the strength of `deviation_regularisation` entries of that variance.
- Weights are relative, mean sigma^2 / sigma^2 with a mean of 1 over the entries, so that lambda means the same with and
  without deviations, whatever the noise.
- In a matrix, the weight of an entry counts for its share of the prior, too: a user with noise is not pulled to 0 the
  more, only weighted less by others.
- Values are centred and scaled to deviation 1, so that no parameter depends on their unit; Delta is a share of the
  mean squared error when deviations begin to be learned.
- In a tensor, factors of a mode with many codes are pulled to their mean, not to 0: a sensor of which little is known
  is like the others.
- A code with few entries is regularised the more (`regularisation_power`).
- AdaGrad has one rate a row, not one a cell: as good, and faster.
- Of up to 50,000 entries of a matrix the number of factors, lambda and the learning rate are chosen by
  cross-validation; deviations are learned from its errors and scaled to them, and the fit is to all entries.
- `predict` keeps within the range of the training values (`clip`), never as printed; unseen users, items get 3 there.
- The prior is counted for each visit of an entry (lambda of a code grows with its entries), as is usual.
- The standard deviation is scaled to the errors on the validation part, where there is one. Where a
  fit that trusts all entries alike predicts that part better, by two standard errors, it is taken, and its deviation.

Reference: G.-H. Lee, S.-W. Yang, T.-H. Lin, S.-D. Lin, "Heteroscedastic learning and its realization on matrix
factorization and gradient boosting regression/classification", 2017, sections 3.1 and 5; equation numbers are theirs.
"""

from __future__ import annotations

from hetcore.factorization.estimator import Factorization
from hetcore.parameters import Declared, Flag, Interval, Seed, Slider, Whole, param
from hetcore.registry import MemoryNeed, estimator

__all__ = ["HMF", "HTF", "MatrixFactorization", "TensorFactorization"]


AUTO = (
    '"auto": of a matrix with 20 to 50,000 entries and a `validation_fraction` above 0 chosen by five-fold '
    "cross-validation, with the epochs, which `patience` does not end then; of more entries, of a tensor and with "
    "`as_printed` 50. The choice is `n_factors_`."
)


class Factors(Declared):
    """Parameters of the factors."""

    n_factors: int | str = param(
        "auto",
        Whole(0, 10_000).or_text("auto"),
        f"Factors D; 0 leaves the biases. {AUTO}",
        Slider("Factors D", 0, 100, 1),
    )
    n_iterations: int = param(60, Whole(1), "Epochs at most.", Slider("Epochs", 5, 200, 5))
    learning_rate: float | str = param(
        "auto",
        Interval(0, 10, "(]", "0.07 is a good start").or_text("auto"),
        'Of AdaGrad. "auto" is as that of `n_factors`, with 0.07 in place of 50.',
        Slider("Learning rate η", 0.01, 1.0, 0.01),
    )
    regularisation: float | str = param(
        "auto",
        Interval(0, 1e6).or_text("auto"),
        "lambda of the factors, for each visit of an entry (of a code with 100), values scaled to deviation 1; with "
        "`as_printed`, of each code once, values as they are. 'auto' is as that of `n_factors`, 0.095 in place of 50.",
        Slider("Penalty λ", 0.0, 1.0, 0.001),
    )
    regularisation_power: float = param(
        0.25,
        Interval(0, 1),
        "p: a code with n entries has lambda (100 / n)^p; 0 is one for all, 1 one total for all, as with `as_printed`.",
    )
    bias_regularisation: float = param(
        0.02, Interval(0, 1e6), "lambda of the biases; with `as_printed` that of the factors, `regularisation`."
    )


class Deviations(Declared):
    """Parameters of the deviation."""

    n_deviation_factors: int = param(
        1,
        Whole(0, 1000, cure="0 learns none"),
        "K, columns of P and Q (and R); 0 is the model of equal deviations, to the last bit.",
        Slider("Factors of the deviation", 1, 20, 1),
    )
    deviation_learning_rate: float = param(
        0.05, Interval(0, 10, "(]"), "Of AdaGrad, for P and Q (and R), relative to their common level."
    )
    deviation_regularisation: float | None = param(
        None,
        Interval(0, 1e9).or_none(),
        "Entries of the common variance to which each code's are added, 50 (of a tensor 60) for None; with "
        "`as_printed`, the rate lambda' of the exponential prior of each code once, 1 for None.",
    )
    deviation_folds: int = param(
        0,
        Whole(0, 100, cure="from 2 on it counts"),
        "From 2 on: deviations are learned, before the first epoch, from the errors on entries left out by that many "
        "fits without deviation, each of `deviation_start` epochs. Below: from the errors of the first epochs. Where "
        "cross-validation chooses `n_factors` or a rate, from its errors in any case; never so with `as_printed`.",
    )
    deviation_start: int = param(
        1,
        Whole(1),
        "Epochs before deviations are learned, at the level of the last one's mean squared error; none with "
        "`as_printed`.",
    )
    deviation_epochs: int = param(
        7, Whole(1), "Epochs in which they are learned; then they stand. `as_printed` learns them in all epochs."
    )
    base_variance: float = param(
        0.1, Interval(0, 1e9, "()"), "Delta, as a share of that level; with `as_printed`, in squared units of y."
    )


class Stopping(Declared):
    """Parameters of when to stop and of what is predicted."""

    clip: bool = param(True, Flag(), "Whether predictions keep within the range of the training values.")
    validation_fraction: float = param(
        0.1, Interval(0, 1, "[)", "0 trains on all"), "Share of entries that says when to stop; the best epoch stays."
    )
    patience: int = param(5, Whole(1), "Epochs without a gain on them before stopping.", Slider("Patience", 1, 50, 1))
    as_printed: bool = param(
        False,
        Flag(),
        "The paper's model to the letter: priors count once for a code, AdaGrad has a rate for each cell, deviations "
        "are learned in every epoch, values are as they are, nothing is clipped, and of a matrix unseen codes get 3.",
    )
    random_state: int | None = param(0, Seed(), "Seed; an int makes a fit repeatable bit for bit, None does not.")


@estimator(MemoryNeed(cell=150, record=400))
class MatrixFactorization(Factors, Stopping, Factorization):
    """Biased matrix factorization, every rating trusted alike.

    References
    ----------
    Lee, Yang, Lin, Lin, "Heteroscedastic learning and its realization on matrix factorization and gradient boosting
    regression/classification", 2017: sections 3.1 and 5.1, "Biased MF", (11) and (14); Koren, Bell, Volinsky, "Matrix
    factorization techniques for recommender systems", Computer 2009.
    """


@estimator(MemoryNeed(cell=150, record=400))
class HMF(Factors, Deviations, Stopping, Factorization):
    """Heteroscedastic matrix factorization: a rating is trusted by the deviation that is learned for it.

    References
    ----------
    Lee, Yang, Lin, Lin, "Heteroscedastic learning and its realization on matrix factorization and gradient boosting
    regression/classification", 2017: sections 3.1 and 5.1, (11) to (16).
    """


@estimator(MemoryNeed(cell=150, record=400))
class TensorFactorization(MatrixFactorization):
    """PTF: three-mode PARAFAC with biases, every entry trusted alike; X has three columns.

    References
    ----------
    Lee, Yang, Lin, Lin, "Heteroscedastic learning and its realization on matrix factorization and gradient boosting
    regression/classification", 2017: section 5.2, "PTF"; Xiong, Chen, Huang, Schneider, Carbonell, "Temporal
    collaborative filtering with Bayesian probabilistic tensor factorization", SDM 2010.
    """

    _n_modes = 3

    n_factors = 50
    n_iterations = 400
    learning_rate = 0.1
    regularisation = 0.004
    regularisation_power = 1.0
    bias_regularisation = 0.004
    clip = False
    patience = 40


@estimator(MemoryNeed(cell=150, record=400))
class HTF(HMF):
    """Heteroscedastic tensor factorization: `HMF` for three modes; X has three columns.

    References
    ----------
    Lee, Yang, Lin, Lin, "Heteroscedastic learning and its realization on matrix factorization and gradient boosting
    regression/classification", 2017: section 5.2, (11) to (16) of section 3.1 with PARAFAC in place of the products.
    """

    _n_modes = 3
    _prior_entries = 60.0

    n_factors = 50
    n_iterations = 400
    learning_rate = 0.1
    regularisation = 0.004
    regularisation_power = 1.0
    bias_regularisation = 0.004
    deviation_learning_rate = 0.1
    deviation_folds = 5
    deviation_start = 150
    deviation_epochs = 20
    clip = False
    patience = 40
