r"""Factorization of ratings and of sensor tensors, with a learned deviation for every entry: MF, HMF, PTF, HTF.

Rating y_ij of item j by user i, of which few are observed:

    1  y_ij = mu + b_i + c_j + U_i . V_j + sigma_ij noise                                                  (11), (12)
    2  sigma_ij^2 = P_i . Q_j + Delta,  P, Q >= 0                                                                (14)
    3  minimise over the observed  (y - f)^2 / (2 sigma^2) + ln(sigma^2) / 2
           + lambda/2 |U, V, b, c|^2 + lambda' sum(P, Q)                                                   (13), (16)
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
  more, only heard the less by others.
- Values are centred and scaled to deviation 1, so that no parameter depends on their unit; Delta is a share of the
  mean squared error when deviations begin to be learned.
- In a tensor, factors of a mode with many codes are pulled to their mean, not to 0: a sensor of which little is known
  is like the others.
- A code with few entries is regularised the more (`regularisation_power`).
- AdaGrad has one rate a row, not one a cell: as good, and faster.
- `predict` keeps within the range of the training values (`clip`).
- The standard deviation is scaled to the errors on the validation part, where there is one.

Reference: G.-H. Lee, S.-W. Yang, S.-D. Lin, "Toward implicit sample noise modeling: deviation-driven matrix
factorization", arXiv:1610.09274, 2016, and its extension to boosting and tensors, whose equation numbers these are.
"""

from __future__ import annotations

from hetcore.factorization.estimator import DEVIATION_RULES, RULES, Factorization
from hetcore.registry import MemoryNeed, estimator

__all__ = ["HMF", "HTF", "MatrixFactorization", "TensorFactorization"]


@estimator(MemoryNeed(cell=150, record=400))
class MatrixFactorization(Factorization):
    """Biased matrix factorization, every rating trusted alike.

    Parameters
    ----------
    n_factors : int, default=50
        D; 0 leaves mean and biases.
    n_iterations : int, default=60
        Epochs at most.
    learning_rate : float, default=0.07
        Of AdaGrad.
    regularisation : float, default=0.095
        lambda of the factors, for each visit of an entry, values scaled to deviation 1.
    regularisation_power : float, default=0.25
        p in [0, 1]: a code with n entries has lambda (100 / n)^p; 0 is the same for all, 1 a prior of the same total.
    bias_regularisation : float, default=0.02
        lambda of the biases.
    clip : bool, default=True
        Whether predictions keep within the range of the training values.
    validation_fraction : float, default=0.1
        Share of the entries, in [0, 1), that is not trained on but tells when to stop; the best epoch is kept.
    patience : int, default=5
        Epochs without a gain on them before stopping.
    as_printed : bool, default=False
        AdaGrad with a rate for each cell, values as they are, and 3 for unseen codes, as the paper has it.
    random_state : int, optional
        Makes a fit repeatable to the last bit.
    """

    def __init__(
        self, n_factors: int = 50, n_iterations: int = 60, learning_rate: float = 0.07, regularisation: float = 0.095,
        regularisation_power: float = 0.25, bias_regularisation: float = 0.02, clip: bool = True,
        validation_fraction: float = 0.1, patience: int = 5, as_printed: bool = False,
        random_state: int | None = None,
    ) -> None:  # fmt: skip
        self.n_factors, self.n_iterations, self.learning_rate = n_factors, n_iterations, learning_rate
        self.regularisation, self.regularisation_power = regularisation, regularisation_power
        self.bias_regularisation, self.clip = bias_regularisation, clip
        self.validation_fraction, self.patience = validation_fraction, patience
        self.as_printed, self.random_state = as_printed, random_state


@estimator(MemoryNeed(cell=150, record=400))
class HMF(Factorization):
    """Heteroscedastic matrix factorization: a rating is trusted by the deviation that is learned for it.

    Parameters
    ----------
    n_factors : int, default=50
        D; 0 leaves mean and biases.
    n_iterations : int, default=60
        Epochs at most.
    learning_rate : float, default=0.07
        Of AdaGrad.
    regularisation : float, default=0.095
        lambda of the factors, for each visit of an entry, values scaled to deviation 1.
    regularisation_power : float, default=0.25
        p in [0, 1]: a code with n entries has lambda (100 / n)^p; 0 is the same for all, 1 a prior of the same total.
    bias_regularisation : float, default=0.02
        lambda of the biases.
    n_deviation_factors : int, default=1
        K, columns of P and Q; 0 is `MatrixFactorization` to the last bit.
    deviation_learning_rate : float, default=0.05
        Of AdaGrad, for P and Q, relative to their common level.
    deviation_regularisation : float, optional
        Entries of the common variance to which each code's are added, 50 unless given; with `as_printed`, the rate
        lambda' of the exponential prior, 0.01 unless given.
    deviation_folds : int, default=0
        From 2 on: deviations are learned, before the first epoch, from the errors on entries left out by that many fits
        without deviation, each of `deviation_start` epochs. Below: from the errors of the first epochs.
    deviation_start : int, default=1
        Epochs before deviations are learned; their common level is the mean squared error of the last of those.
    deviation_epochs : int, default=7
        Epochs in which they are learned; then they stand. `as_printed` learns them in all epochs.
    base_variance : float, default=0.1
        Delta, as a share of that level; with `as_printed`, in squared units of y.
    clip : bool, default=True
        Whether predictions keep within the range of the training values.
    validation_fraction : float, default=0.1
        Share of the entries, in [0, 1), that is not trained on but tells when to stop; the best epoch is kept.
    patience : int, default=5
        Epochs without a gain on them before stopping.
    as_printed : bool, default=False
        The paper to the letter; see the module's docstring.
    random_state : int, optional
        Makes a fit repeatable to the last bit.
    """

    _rules = RULES + DEVIATION_RULES

    def __init__(
        self, n_factors: int = 50, n_iterations: int = 60, learning_rate: float = 0.07, regularisation: float = 0.095,
        regularisation_power: float = 0.25, bias_regularisation: float = 0.02, n_deviation_factors: int = 1,
        deviation_learning_rate: float = 0.05, deviation_regularisation: float | None = None,
        deviation_folds: int = 0, deviation_start: int = 1, deviation_epochs: int = 7, base_variance: float = 0.1,
        clip: bool = True, validation_fraction: float = 0.1, patience: int = 5, as_printed: bool = False,
        random_state: int | None = None,
    ) -> None:  # fmt: skip
        self.n_factors, self.n_iterations, self.learning_rate = n_factors, n_iterations, learning_rate
        self.regularisation, self.regularisation_power = regularisation, regularisation_power
        self.bias_regularisation, self.clip = bias_regularisation, clip
        self.n_deviation_factors, self.deviation_learning_rate = n_deviation_factors, deviation_learning_rate
        self.deviation_regularisation, self.deviation_folds = deviation_regularisation, deviation_folds
        self.deviation_start, self.deviation_epochs = deviation_start, deviation_epochs
        self.base_variance, self.validation_fraction, self.patience = base_variance, validation_fraction, patience
        self.as_printed, self.random_state = as_printed, random_state


@estimator(MemoryNeed(cell=150, record=400))
class TensorFactorization(MatrixFactorization):
    """PTF: three-mode PARAFAC with biases, every entry trusted alike; X has three columns.

    Parameters
    ----------
    n_factors : int, default=50
        D; 0 leaves mean and biases.
    n_iterations : int, default=400
        Epochs at most.
    learning_rate : float, default=0.1
        Of AdaGrad.
    regularisation : float, default=0.004
        lambda of the factors, for each visit of an entry of a code with 100, values scaled to deviation 1.
    regularisation_power : float, default=1.0
        p in [0, 1]: a code with n entries has lambda (100 / n)^p; 0 is the same for all, 1 a prior of the same total.
    bias_regularisation : float, default=0.004
        lambda of the biases.
    clip : bool, default=False
        Whether predictions keep within the range of the training values.
    validation_fraction : float, default=0.1
        Share of the entries, in [0, 1), that is not trained on but tells when to stop; the best epoch is kept.
    patience : int, default=40
        Epochs without a gain on them before stopping.
    as_printed : bool, default=False
        AdaGrad with a rate for each cell, values as they are, and 3 for unseen codes, as the paper has it.
    random_state : int, optional
        Makes a fit repeatable to the last bit.
    """

    _n_modes = 3

    def __init__(
        self, n_factors: int = 50, n_iterations: int = 400, learning_rate: float = 0.1, regularisation: float = 0.004,
        regularisation_power: float = 1.0, bias_regularisation: float = 0.004, clip: bool = False,
        validation_fraction: float = 0.1, patience: int = 40, as_printed: bool = False,
        random_state: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__(
            n_factors, n_iterations, learning_rate, regularisation, regularisation_power, bias_regularisation, clip,
            validation_fraction, patience, as_printed, random_state,
        )  # fmt: skip


@estimator(MemoryNeed(cell=150, record=400))
class HTF(HMF):
    """Heteroscedastic tensor factorization: `HMF` for three modes; X has three columns.

    Parameters
    ----------
    n_factors : int, default=50
        D; 0 leaves mean and biases.
    n_iterations : int, default=400
        Epochs at most.
    learning_rate : float, default=0.1
        Of AdaGrad.
    regularisation : float, default=0.004
        lambda of the factors, for each visit of an entry of a code with 100, values scaled to deviation 1.
    regularisation_power : float, default=1.0
        p in [0, 1]: a code with n entries has lambda (100 / n)^p; 0 is the same for all, 1 a prior of the same total.
    bias_regularisation : float, default=0.004
        lambda of the biases.
    n_deviation_factors : int, default=1
        K, columns of P, Q and R; 0 is `TensorFactorization` to the last bit.
    deviation_learning_rate : float, default=0.1
        Of AdaGrad, for P, Q and R, relative to their common level.
    deviation_regularisation : float, optional
        Entries of the common variance to which each code's are added, 60 unless given; with `as_printed`, the rate
        lambda' of the exponential prior, 0.01 unless given.
    deviation_folds : int, default=5
        From 2 on: deviations are learned, before the first epoch, from the errors on entries left out by that many fits
        without deviation, each of `deviation_start` epochs. Below: from the errors of the first epochs.
    deviation_start : int, default=150
        Epochs before deviations are learned; their common level is the mean squared error of the last of those.
    deviation_epochs : int, default=20
        Epochs in which they are learned; then they stand. `as_printed` learns them in all epochs.
    base_variance : float, default=0.1
        Delta, as a share of that level; with `as_printed`, in squared units of y.
    clip : bool, default=False
        Whether predictions keep within the range of the training values.
    validation_fraction : float, default=0.1
        Share of the entries, in [0, 1), that is not trained on but tells when to stop; the best epoch is kept.
    patience : int, default=40
        Epochs without a gain on them before stopping.
    as_printed : bool, default=False
        The paper to the letter; see the module's docstring.
    random_state : int, optional
        Makes a fit repeatable to the last bit.
    """

    _n_modes = 3

    _prior_entries = 60.0

    def __init__(
        self, n_factors: int = 50, n_iterations: int = 400, learning_rate: float = 0.1, regularisation: float = 0.004,
        regularisation_power: float = 1.0, bias_regularisation: float = 0.004, n_deviation_factors: int = 1,
        deviation_learning_rate: float = 0.1, deviation_regularisation: float | None = None, deviation_folds: int = 5,
        deviation_start: int = 150, deviation_epochs: int = 20, base_variance: float = 0.1, clip: bool = False,
        validation_fraction: float = 0.1, patience: int = 40, as_printed: bool = False,
        random_state: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__(
            n_factors, n_iterations, learning_rate, regularisation, regularisation_power, bias_regularisation,
            n_deviation_factors, deviation_learning_rate, deviation_regularisation, deviation_folds, deviation_start,
            deviation_epochs, base_variance, clip, validation_fraction, patience, as_printed, random_state,
        )  # fmt: skip
