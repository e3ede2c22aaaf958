"""A stop in the middle of a round of GBC: the round ends there, and the model is whole."""

import numpy as np
import pytest

import hetcore as hc
from hetcore.consensus import view_consensus
from tests.consensus.test_consensus import planted

LOOK = 3


class Stopping:
    """A callback that is told to stop when it is asked for the k-th time in the middle of the last round."""

    def __init__(self, k):
        self.k, self.asked, self.rounds = k, 0, 0

    def __call__(self, event):
        self.rounds += 1
        return self.asked >= self.k

    @property
    def stopped(self):
        # asked in the rounds before too, which are not counted
        self.asked += self.rounds == LOOK - 1
        return self.asked >= self.k


@pytest.fixture
def stopped_fit(monkeypatch):
    """A fit that is stopped when it is asked for the k-th time in the round that looks for lambda1."""
    monkeypatch.setattr(view_consensus, "LOOKS", (LOOK,))
    data = planted("regression", n=60)[0]

    def fit(k, n_iterations=LOOK, **params):
        stopping = Stopping(k)
        made = hc.GBCRegressor(n_iterations=n_iterations, base_learner="kernel", **params)
        return made.fit(data, callbacks=[stopping]), stopping.asked, made.predict(data)

    return fit


def test_a_stop_ends_the_round_and_leaves_a_model(stopped_fit, tmp_path):
    chosen, most, whole = stopped_fit(np.inf)
    assert chosen.lambda1_ > 0  # or a look that did not come to its end could not be told from one that did
    before = stopped_fit(np.inf, LOOK - 1)[0]
    assert most > 10  # between views, graphs and the folds of each lambda1
    for k in (1, most):
        model, asked, predicted = stopped_fit(k)
        assert asked <= k + 1  # what follows the views asks once more
        assert model.n_iterations_ == LOOK
        # the look at lambda1 did not come to its end, so that nothing of it is in the model
        assert (model.lambda1_, model.graph_weights_) == (before.lambda1_, before.graph_weights_)
        assert np.isfinite(predicted).all()
        assert not np.array_equal(predicted, whole)
        hc.save(model, tmp_path / "stopped.hetcore")
        loaded = hc.load(tmp_path / "stopped.hetcore")
        np.testing.assert_array_equal(loaded.predict(planted("regression", n=60)[0]), predicted)


def test_a_stop_between_sweeps_scores_the_round_by_what_smoothing_moved_before(stopped_fit, monkeypatch):
    moved, left = {}, []
    smooth, leave = view_consensus.ViewConsensus._smooth, view_consensus.ViewConsensus._leave_links

    def smoothing(state):
        smooth(state)
        moved[id(state)] = state.moved

    def leaving(state):
        leave(state)
        now = state.smooth - state.left_out, state.smooth_trained - state.trained
        left.append(zip(moved[id(state)], now))

    monkeypatch.setattr(view_consensus.ViewConsensus, "_smooth", smoothing)
    monkeypatch.setattr(view_consensus.ViewConsensus, "_leave_links", leaving)
    most = stopped_fit(np.inf, lambda1=1.0)[1]
    assert not left
    for k in (most - 3, most):
        moved.clear()
        stopped_fit(k, lambda1=1.0)
        for before, now in left.pop():
            assert np.abs(before).max() > 0.01
            np.testing.assert_allclose(now, before, atol=1e-12)


def test_a_callback_that_never_stops_changes_no_bit(stopped_fit):
    made = hc.GBCRegressor(n_iterations=LOOK, base_learner="kernel").fit(data := planted("regression", n=60)[0])
    np.testing.assert_array_equal(stopped_fit(np.inf)[2], made.predict(data))
