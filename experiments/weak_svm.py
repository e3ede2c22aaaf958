"""Linear support vector machines as weak learners, fast: all products of rows are made once, a row is its number.

`WeakSVM` is scikit-learn's `SVC(kernel="linear")` to rounding. Boosting fits 150 of them to the same rows with other
weights; here a fit looks its products up, and a prediction is looked up among those made with the fit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.svm import SVC

__all__ = ["Products", "WeakSVM"]


class Products:
    """The products of all rows with each other; a copy is the same object, so that clones share it.

    Parameters
    ----------
    X : (n, d) float64
        Training rows and all that will be predicted.
    """

    def __init__(self, X: NDArray) -> None:
        self.gram = X @ X.T

    def __deepcopy__(self, memo: Any) -> Products:
        return self


class WeakSVM(ClassifierMixin, BaseEstimator):
    """A linear SVM over row numbers (n, 1).

    Parameters
    ----------
    products : Products
    C : float, default=0.001
        Of the whole fit, where weights are 1 on average: 800 columns need much regularisation.
    """

    def __init__(self, products: Products, C: float = 0.001) -> None:
        self.products, self.C = products, C

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> WeakSVM:
        """Fit to row numbers X (n, 1), labels y (n,) of two classes and weights (n,)."""
        rows, gram = np.asarray(X)[:, 0].astype(np.int64), self.products.gram
        model = SVC(C=self.C, kernel="precomputed").fit(gram[np.ix_(rows, rows)], y, sample_weight)
        scores = model.dual_coef_[0] @ gram[rows[model.support_]] + model.intercept_[0]
        self.classes_ = model.classes_
        self._answers = self.classes_[(scores > 0).astype(np.int64)]
        return self

    def predict(self, X: ArrayLike) -> NDArray:
        """Return the labels (n,) of row numbers X (n, 1)."""
        return self._answers[np.asarray(X)[:, 0].astype(np.int64)]
