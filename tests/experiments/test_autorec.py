"""I-AutoRec, the peer of Table 2: it finds what is low-rank, repeats, and knows nothing of users never seen."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from experiments.noise import autorec
from experiments.noise.autorec import AutoRec

pytest.importorskip("torch")


def test_ratings_of_low_rank_are_rebuilt_and_unseen_users_get_the_mean(monkeypatch):
    monkeypatch.setattr(autorec, "RATE", 0.02)
    rng = np.random.default_rng(0)
    truth = 3.0 + np.outer(rng.choice([-1.0, 1.0], 60), rng.choice([-1.0, 1.0], 80))
    observed = rng.random(truth.shape) < 0.5
    X, y = np.argwhere(observed), truth[observed]
    given = {"hidden": 20, "penalties": (0.1, 1e5), "n_iterations": 40, "patience": 40}
    model, again = (AutoRec(**given).fit(X, y) for _ in range(2))
    fitted = model.predict(np.argwhere(~observed))
    assert np.sqrt(((fitted - truth[~observed]) ** 2).mean()) < 0.5
    assert_array_equal(fitted, again.predict(np.argwhere(~observed)))
    assert_allclose(model.predict(np.array([[99, 0], [0, 99]])), y.mean())
    assert 0 < model.n_iterations_ <= 400 and model.history_["seconds"][-1] > 0
