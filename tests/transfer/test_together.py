"""Both weak learners of the weighted method in one vote: their shares, the sum, the path, files and rounds."""

from __future__ import annotations

import numpy as np
import pytest

import hetcore as hc
from hetcore.transfer.left_out import BOOSTED, BOTH, ETAS, LEAST_SHARE, Candidate, Evaluated, Search
from hetcore.transfer.together import BothVotes, Vote
from tests.transfer.test_transfer import planted

WMS = hc.WeightedMultiSourceTrAdaBoostClassifier


NAMES = "linear", "tree", "auto"


def noisy(n_classes=2):
    """Return few target rows and noisy sources, of which no learner is sure: X, y, sample_domain and other rows."""
    return planted(2, n_target=8, flips=(0.3, 0.6), n_source=60, n_classes=n_classes)


def fits(**params):
    """Return what ridge machines, trees and both say of rows after a fit at one eta, (n,) each, and the last model."""
    X, y, domain, (X_test, _) = noisy()
    models = [WMS(eta=0.2, guard=False, learner=name, **params).fit(X, y, domain) for name in NAMES]
    return [model.decision_function(X_test) for model in models], models[-1]


def search(totals):
    """Return a search that knows the loss of each learner at eta = 1, and scores of four rows."""
    found = Search.__new__(Search)
    found.learners, found.codes, found.target = dict.fromkeys(totals), np.array([0, 1, 1, 0]), np.arange(4)
    found.known, found.scores = {}, {}
    for k, (name, total) in enumerate(totals.items()):
        each = Candidate(BOOSTED, name, 1.0)
        found.known[each] = Evaluated(each, total / 4, 0.5, 1.5, total)
        found.scores[each] = np.array([[-0.5], [0.5], [0.1 - 0.3 * k], [0.2]])
    return found


def test_the_vote_of_both_is_a_mean_of_what_each_says():
    (linear, tree, both), model = fits(n_iterations=6)
    assert model.learner_ == "both" and isinstance(model._votes[0], BothVotes)
    shares = np.linalg.lstsq(np.column_stack([linear, tree]), both, rcond=None)[0]
    np.testing.assert_allclose(shares[0] * linear + shares[1] * tree, both, atol=1e-9)
    assert shares.sum() == pytest.approx(1.0) and (shares > LEAST_SHARE).all()


def test_auto_is_a_mean_of_what_each_learner_says_at_each_eta():
    X, y, domain, (X_test, _) = noisy()
    model = WMS(n_iterations=4, guard=False).fit(X, y, domain)
    path = zip(*(model.eta_path_[name] for name in ("learner", "eta", "share")))
    votes = [(learner, eta, share) for learner, eta, share in path if share > 0]
    assert {eta for _, eta, _ in votes} >= {0.03, 0.2, 1.0} and {name for name, *_ in votes} == {"linear", "tree"}
    each = [
        share * WMS(eta=eta, learner=name, n_iterations=4, guard=False).fit(X, y, domain).decision_function(X_test)
        for name, eta, share in votes
    ]
    assert sum(share for *_, share in votes) == pytest.approx(1.0)
    np.testing.assert_allclose(model.decision_function(X_test), sum(each), atol=1e-9)


def test_a_row_left_out_has_no_part_in_the_shares_that_judge_all_eta(monkeypatch):
    searches = []
    real = Search.__post_init__
    monkeypatch.setattr(Search, "__post_init__", lambda self: (real(self), searches.append(self)))
    X, y, domain, _ = noisy()
    model = WMS(n_iterations=2, guard=False).fit(X, y, domain)
    (found,) = searches
    path = [each for each in found.known.values() if each.candidate.learner != BOTH]
    losses = np.random.default_rng(0).exponential(size=(len(found.target), len(path)))
    folds, scores = found.deals[0], found._left_out_of_path(path, losses)[: len(found.target)]
    losses[folds == 1] = losses[folds == 1][:, ::-1]
    now = found._left_out_of_path(path, losses)[: len(found.target)]
    np.testing.assert_array_equal(now[folds == 1], scores[folds == 1])
    assert (now[folds != 1] != scores[folds != 1]).any()
    every = np.stack([found._losses(found.scores[each.candidate], each.steepness) for each in path], axis=1)
    expected = found._losses(found._left_out_of_path(path, every), 1.0).mean()
    assert dict(zip(model.eta_path_["eta"], model.eta_path_["loss"]))[None] == pytest.approx(expected)


def test_shares_are_likelihoods_of_the_left_out_rows():
    votes = search({"linear": 2.0, "tree": 2.5}).boosted(1.0).votes  # and the nat that trees bear
    assert [(vote.learner, vote.share) for vote in votes] == [
        ("linear", pytest.approx(1 / (1 + np.exp(-1.5)))),
        ("tree", pytest.approx(1 / (1 + np.exp(1.5)))),
    ]
    assert search({"linear": 9.0, "tree": 3.0}).boosted(1.0).votes == [Vote("tree", 1.0, 1.0, 1.5)]
    assert search({"tree": 3.0}).boosted(1.0).learner == "tree"


def test_the_loss_of_both_is_that_of_their_sum():
    found = search({"linear": 3.0, "tree": 2.0})  # with the nat that trees bear each has half of the vote
    choice = found.boosted(1.0)
    margins = 2 * 1.5 * np.array([0.5, 0.5, -0.05, -0.2])  # tau = 1.5 and the signs, of the mean of both scores
    assert choice.learner == BOTH and choice.total == pytest.approx(np.log1p(np.exp(-margins)).sum())
    assert found.known[Candidate(BOOSTED, BOTH, 1.0)].error == 0.5


def test_the_path_holds_the_vote_that_is_taken():
    X, y, domain, _ = noisy()
    model = WMS(n_iterations=6, guard=False).fit(X, y, domain)
    rows = zip(*(model.eta_path_[name] for name in ("learner", "eta", "loss")))
    of = {(learner, eta): loss for learner, eta, loss in rows}
    assert of.pop(("both", None)) <= max(of.values())  # of all eta that vote
    assert {learner for learner, _ in of} == {"linear", "tree", "both"} and {eta for _, eta in of} == set(ETAS)
    for eta in ETAS:  # the log loss is convex in the scores
        alone = [of["linear", eta], of["tree", eta]]
        assert of["both", eta] <= max(alone) + 1e-12


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_file_keeps_both(n_classes, tmp_path):
    X, y, domain, (X_test, _) = noisy(n_classes)
    X[::7, 0] = np.nan
    model = WMS(eta=0.2, guard=False, n_iterations=4).fit(X, y, domain)
    assert model.learner_ == "both"
    hc.save(model, tmp_path / "m.hetcore")
    loaded = hc.load(tmp_path / "m.hetcore")
    np.testing.assert_array_equal(loaded.predict_proba(X_test), model.predict_proba(X_test))
    assert loaded.learner_ == "both" and loaded.eta_path_ == model.eta_path_


def test_a_forged_tree_beside_ridge_machines_is_refused():
    X, y, domain, _ = noisy()
    model = WMS(eta=0.2, guard=False, n_iterations=4).fit(X, y, domain)
    meta, arrays = model._get_state()
    assert arrays["trees 0:values"].size and np.abs(arrays["trees 0:values"]).max() <= 1.0
    arrays["trees 0:values"] = arrays["trees 0:values"] + 2.0
    with pytest.raises(hc.errors.ModelFileError, match="something else than"):
        WMS()._set_state(meta, arrays)


def test_rounds_of_both_are_seen():
    X, y, domain, (X_test, y_test) = noisy()
    events = []
    model = WMS(eta=0.2, guard=False, n_iterations=4)
    model.fit(X, y, domain, callbacks=[events.append], eval_set=(X_test, y_test))
    assert len(events) == 4 and events[0].detail["learner"] == "both" and "eta_path" in events[0].detail
    for event in events:
        assert event.detail["target_mass"] + sum(event.source_weights.values()) == pytest.approx(1.0)
    loss = -np.log(model.predict_proba(X_test)[np.arange(len(y_test)), np.searchsorted(model.classes_, y_test)])
    assert events[-1].losses["held_out"] == pytest.approx(loss.mean())
