r"""The default's rounds: a consensus of boosted views.

    1  deal the labelled rows to folds; build the views, labels hidden by fold
    2  for t = 1..N:
    3    for each view i that has not settled: one round of its learner's members,
           each on the labels of the other folds and, with lambda0, pulled to E on some unlabelled rows
    4    l_i <- loss of view i over the labelled rows that it covers, each scored by the member that did not see it,
             for what is usual there
    5    w <- (4.10) of l_i ** q;   E(x) = sum_i w_i f_i(x) over the views that cover x,
             for numbers corrected by a ridge regression of its out-of-fold residuals on the views
    6    w^ <- (4.11) from how much less linked instances differ than any two do, cubed;
             0 where they do not correlate by three standard errors
    7    e <- E smoothed along the links with lambda1
    8  predict with e

"auto" chooses q, lambda1 and lambda0 by the same out-of-fold loss of the consensus. A view has settled when its loss
has not fallen for some rounds, or when it would stay far behind the best view of the same rows though it fell as now.
The fit ends when the out-of-fold loss of the consensus does not fall any more, at the latest after N rounds.

A stop in the middle of a round, but for the first, leaves the views that had no turn in it as they were, and lines 6
and 7 with w^, lambda1 and e - E of the round before. Where views work side by side, on threads or workers, all have had
it.

Lines 5 to 7 are in `hetcore.consensus.view_consensus`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetcore.consensus.ard_kernel import ArdKernelLearner
from hetcore.consensus.executor import Executor, LocalExecutor, SourceState
from hetcore.consensus.neighbor_columns import dealt_folds, folds_for
from hetcore.consensus.outputs import stretch_of
from hetcore.consensus.recall import key_of
from hetcore.consensus.smooth_learner import SmoothLearner
from hetcore.consensus.table_views import ARD, DataView, TableFitter, check_room
from hetcore.consensus.view_consensus import ViewConsensus, choose_lambda1
from hetcore.consensus.view_learners import BoostRule, TreeLearner, ViewContent, ViewState
from hetcore.consensus.views import SMOOTH, TREES, ViewColumns, enough_lack, fitted_views, views_apart
from hetcore.numerics import standard_error
from hetcore.targets import KnownLabels, Problem
from hetcore.trees import TreeParams

__all__ = ["ViewBoosting"]

LAMBDA0 = (0.0, 0.3, 1.0)
SHALLOW = 2  # depth of shallow trees
DEEPER = 3  # more splits on a path that deep trees have
TRIAL_ROUNDS = 15
FEWEST_ROUNDS = 8
FAR, FAR_OF_CLASSES = 1.05, 1.4  # times the best view's loss: a view that stays above it is not worth a round
UNSURE = 2.0  # added to it, over the root of the labels
WINDOW, LITTLE = 5, 0.003  # a fit ends when the consensus' loss falls by less than this share in so many rounds
LITTLE_UNLINKED = 0.006  # the same of a view that goes on for new instances without a link
PULLED = 300  # unlabelled rows that are pulled at least; otherwise half as many as are labelled
FEW_GRAPHS = 0.2  # weight of views that see graphs, below which the others serve an instance without a link as they are
LEARNERS = {"both": (*TREES, *SMOOTH, ARD), "kernel": (*SMOOTH, ARD), "tree": TREES}


class ViewBoosting(ViewConsensus):
    """The state of a fit of the default; `round` is lines 3 to 7.

    Attributes
    ----------
    lambda0 : float
        As given, or as chosen.
    """

    alike, repeats = "", 1

    @classmethod
    def start(
        cls,
        problem: Problem,
        params: dict[str, Any],
        rng: np.random.Generator,
        executor: Executor | None = None,
        alike: str = "",
    ) -> Any:
        """Lines 1 and 2: build the views and give them to their learners; `alike` as of `fitted_views`."""
        state = cls(problem, params, LocalExecutor() if executor is None else executor)
        state.alike = alike
        n_known = int(problem.labelled.sum())
        state.n_folds = folds_for(n_known)
        # a seed for each thing that draws, by place: one more view must not change what the others draw
        seeds = rng.integers(2**31, size=1000)
        # the first seed is for the folds, the last for pulled rows, those between for views
        fold = dealt_folds(problem, state.n_folds, seeds[0])
        state.pulled = state._drawn_pulled(np.random.default_rng(seeds[-1]))
        state.labels = KnownLabels(state.outputs.codes(problem.target), fold)
        state.columns, found = state._fitted_views()
        made = [(each, int(seed)) for each, seed in zip(found, seeds[1:])]
        del found
        lambda0 = state._chosen_lambda0(made) if params["lambda0"] == "auto" else float(params["lambda0"])
        state._open(made, lambda0)
        return state

    def _fitted_views(self) -> tuple[ViewColumns, list[DataView]]:
        data, learners = self.problem.data, LEARNERS[self.params["base_learner"]]
        if self.params["join_tables"]:
            check_room(data)
            return fitted_views(data, self.labels, learners, self.executor.n_jobs, self.alike)
        tables = [SourceState(name, data.rows(name), data.n) for name in data.source_names if data.rows(name).size]
        for table in tables:
            self.executor.add(table, TableFitter, self.problem.labelled, data.sources[table.name])
        encodings = self.executor.encodings(tables)
        return views_apart(data, self.labels, learners, {table.name: each for table, each in zip(tables, encodings)})

    def _drawn_pulled(self, rng: np.random.Generator) -> NDArray[np.bool_]:
        """Return which unlabelled instances (n,) lambda0 pulls: a few hundred are enough."""
        labelled = self.problem.labelled
        unlabelled = np.flatnonzero(~labelled)
        size = min(unlabelled.size, max(PULLED, int(labelled.sum()) // 2))
        pulled = np.zeros(len(labelled), bool)
        # choice of nothing from nothing raises
        pulled[rng.choice(unlabelled, size, replace=False) if size else unlabelled] = True
        return pulled

    def _open(self, made: list[tuple[DataView, int]], lambda0: float) -> None:
        """Line 2: give views to learners, each with its seed; they are taken out of `made`."""
        self.lambda0 = lambda0
        rule = self.rule(lambda0)
        # one by one: learners keep what they need of their columns, which together may be most of the memory
        self._begin([self._with_learner(*made.pop(0), rule) for _ in range(len(made))])

    def _chosen_lambda0(self, made: list[tuple[DataView, int]]) -> float:
        """Return the lambda0 with the lowest out-of-fold loss of the tables' smooth learners after a few rounds."""
        # smooth learners alone: trees would take most of the time of the fit itself, three times over
        smooth = [each for each in made if not each[0].view.graphs and each[0].view.learner in SMOOTH]
        # nothing to pull, or nobody to try it on
        if self.problem.labelled.all() or not smooth:
            return 0.0
        losses = []
        for lambda0 in LAMBDA0:
            # no weights by several rules in a trial, which would hide what lambda0 does
            trial = self._beside(lambda0, weights="entropy")
            trial._open([*smooth], lambda0)
            for _ in range(TRIAL_ROUNDS):
                trial.round()
            labelled = self.problem.labelled
            losses.append(float(self.outputs.loss(trial.left_out[labelled], trial.codes).mean()))
        self.paths["lambda0"] = list(zip(LAMBDA0, losses))
        # of equal losses the smallest lambda0: argmin takes the first
        return LAMBDA0[int(np.argmin(losses))]

    def _beside(self, lambda0: float, **params: Any) -> ViewBoosting:
        """Return a fit with the same folds that knows no graph, and has no views yet."""
        problem = replace(self.problem, data=self.problem.data.select(graphs=[]))
        other = ViewBoosting(problem, self.params | {"lambda1": 0.0, "smooth_residuals": False} | params, self.executor)
        other.n_folds, other.pulled, other.labels, other.columns = self.n_folds, self.pulled, self.labels, self.columns
        other.lambda0 = lambda0
        return other

    @property
    def _far(self) -> float:
        """How many times the best view's loss another may have and be worth a round."""
        return (FAR_OF_CLASSES if self.outputs.is_classifier else FAR) + UNSURE / np.sqrt(len(self.codes))

    def unlinked(self) -> ViewBoosting | None:
        """Return what views that see no graph say together of new instances without a link; None where all say it.

        Where views that see graphs have weight the others may have rested early, or the fit has ended without them:
        these go on from there, with nothing that pulls, each until it falls little in five rounds. All views serve
        where their out-of-fold loss of labelled instances without a link is lower by more than two standard errors.
        Comes after `finish`: learners move on.
        """
        plain = [i for i, view in enumerate(self.views) if not view.view.graphs]
        if not plain or self.effective.sum() - self.effective[plain].sum() < FEW_GRAPHS:
            return None
        other, known, most = self._beside(0.0), self.problem.labelled, self.params["n_iterations"]
        resting = [self.views[i] for i in plain]
        other._begin([replace(view, losses=[*view.losses], settled=False) for view in resting])
        other.all_trained[:] = self.all_trained[plain]
        for i in range(len(plain)):
            other._hear(i)
        far, least = self._far, [min(view.losses, default=np.inf) for view in other.views]
        # the best first, for it says who is far behind
        for i in np.argsort(least, kind="stable"):
            view = other.views[i]
            view.settle(far * other.leads()[i])
            while not (view.settled or len(view.losses) >= most or _falls_little(view.losses, LITTLE_UNLINKED)):
                if self.asked_to_stop():
                    break
                (advanced,) = self.executor.advance([view], len(view.losses), None)
                if view.take(advanced, known):
                    other._hear(i)
                view.settle(far * other.leads()[i])
        other._weigh()
        other._smooth()
        return None if self._serves_unlinked(other) else other

    @property
    def bare(self) -> NDArray[np.bool_]:
        """The instances (n,) without a link in any graph."""
        return np.all([graph.degree == 0 for graph in self.problem.data.graphs.values()], axis=0)

    def _serves_unlinked(self, other: ViewBoosting) -> bool:
        known = self.problem.labelled
        bare = known & self.bare
        if bare.sum() < enough_lack(known):
            return False
        codes = self.labels.codes[bare]
        gains = self.outputs.loss(other.smooth[bare], codes) - self.outputs.loss(self.smooth[bare], codes)
        return bool(gains.mean() > 2.0 * standard_error(gains))

    def rule(self, lambda0: float) -> BoostRule:
        """Return how learners are boosted with a lambda0."""
        p = self.params
        limits = TreeParams(p["max_depth"], -1, p["min_samples_leaf"], 1e-3, p["l2"])
        shares = p["learning_rate"], limits, p["subsample"], p["column_sample"]
        return BoostRule(self.outputs, self.n_folds, *shares, lambda0, self.executor.n_jobs)

    def _with_learner(self, made: DataView, seed: int, rule: BoostRule) -> ViewState:
        n = self.problem.data.n
        prior, covers = np.tile(self.outputs.prior, (n, 1)), np.zeros(n, bool)
        covers[made.rows] = True
        state = ViewState(made.view, made.rows, prior, prior.copy(), covers)
        codes, fold = self.labels.codes[made.rows], self.labels.fold[made.rows]
        pulled = np.flatnonzero(self.pulled[made.rows])
        # what sees labels gives them away to rows that are pulled: it neither pulls nor is pulled
        if made.view.sees_labels:
            pulled, rule = pulled[:0], rule._replace(lambda0=0.0)
        rule = rule._replace(limits=rule.limits._replace(max_depth=_depth(made.view.learner, rule.limits.max_depth)))
        given = {"learner": made.view.learner, "seed": seed, "rule": rule, "pulled": pulled}
        content = ViewContent(X=made.X, codes=codes, fold=fold, unseen=made.unseen, **given)
        if made.key:
            # the outputs by kind and prior, for an object's text says nothing of its arrays
            plain = rule._replace(outputs=rule.outputs.is_classifier, n_jobs=1)
            key = key_of(made.key, made.view.learner, seed, plain, rule.outputs.prior, pulled, codes, fold)
            # a fit whose columns alone are those of others has rounds of its own, and nothing to be recalled
            content = content._replace(key="" if self.alike else key, columns_key=made.key)
        kinds = dict.fromkeys(TREES, TreeLearner) | {ARD: ArdKernelLearner}
        kind = kinds.get(made.view.learner, SmoothLearner)
        self.executor.add(state, kind, self.problem.labelled, content)
        return state

    def round(self) -> bool:
        """Lines 3 to 7; return whether nothing is left to do."""
        self.learn()
        if self.going:
            choose_lambda1([self])
        return self.conclude()

    def learn(self) -> None:
        """Lines 3 to 6, of the views that have not settled."""
        places = [i for i, view in enumerate(self.views) if not view.settled]
        going = [self.views[i] for i in places]
        # views that have settled are not asked any more: they say what they said in their best round
        self.going = bool(going)
        if not going:
            return
        known = self.problem.labelled
        found = self.executor.advance(going, self.n_rounds, self._pulls(going))
        for i, view, advanced in zip(places, going, found):
            if view.take(advanced, known):
                self._hear(i)
            # learners that work side by side have all done the round, and are all heard
            if self.n_rounds and not self.executor.concurrent and self.asked_to_stop():
                break
        leads = self.leads()
        for i in places:
            self.views[i].settle(self._far * leads[i])
        self._weigh()

    def conclude(self) -> bool:
        """Line 7; return whether nothing is left to do."""
        if self.going and not self.cut:
            self._try(self._smooth)
        self.n_rounds += 1
        return not self.going or self._ended()

    def _ended(self) -> bool:
        """Return whether the out-of-fold loss of the consensus has stopped falling."""
        # the loss of what predicts, smoothing included
        labelled = self.problem.labelled
        self.losses.append(float(self.outputs.loss(self.smooth[labelled], self.codes).mean()))
        if all(view.settled for view in self.views):
            return True
        if self.n_rounds < FEWEST_ROUNDS:
            return False
        return _falls_little(self.losses, LITTLE)

    def _pulls(self, going: list[ViewState]) -> list[NDArray] | None:
        """Return what E says of each view's pulled rows, by fold; None where nothing pulls.

        Only views that see no label take part, in E and as pulled: an unlabelled row's neighbours may be of any fold,
        so that a member pulled to what their labels say would learn labels that it must not see.
        """
        # before the first round there is no E to be pulled to
        if not self.lambda0 or not self.pulled.any() or not self.n_rounds:
            return None
        which, known = np.array([not view.view.sees_labels for view in self.views]), self.problem.labelled
        predicted = self.member_consensus(self.executor.pulled_members, self.pulled, which)
        # how far E may be trusted is seen on labelled rows, each as left out; of numbers on E of the same views
        left_out = self.left_out[known] if self.outputs.is_classifier else self.left_out_by(which)
        stretch = stretch_of(self.outputs, left_out, self.codes, predicted)
        fitted = self.outputs.fitted(self.outputs.prior + stretch * (predicted - self.outputs.prior))
        # where an instance stands among the pulled ones
        place = np.cumsum(self.pulled) - 1
        rows = [view.rows[self.pulled[view.rows]] if not view.view.sees_labels else view.rows[:0] for view in going]
        return [fitted[:, place[each]] for each in rows]

    def finish(self) -> list[dict[str, NDArray]]:
        """Return what each view's learner keeps."""
        return self.executor.keep_views(self.views)


def _depth(learner: str, given: int) -> int:
    """Return the depth of a learner's trees where `max_depth` is given; -1 is no limit."""
    if learner == "shallow trees":
        return SHALLOW if given < 0 else min(SHALLOW, given)
    return given + DEEPER if learner == "deep trees" and given > 0 else given


def _falls_little(losses: list[float], little: float) -> bool:
    """Return whether losses, by round, have fallen by less than a share in the last rounds."""
    # of rounds before the window the best, so that a plateau ends the fit and a single bad round does not
    return len(losses) > WINDOW and min(losses[-WINDOW:]) > (1.0 - little) * min(losses[:-WINDOW])
