"""What the views of a fit of the default say together: lines 5 to 7 of `hetcore.consensus.boosting`.

Weights of views and graphs, E, E smoothed along the links, and what of it is each table's and graph's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetcore.consensus.executor import Executor
from hetcore.consensus.link_sums import times
from hetcore.consensus.outputs import Outputs
from hetcore.consensus.smoothing import LinkBlend, Pairs, graph_weights, share_of_residuals, smoothed
from hetcore.consensus.view_learners import ViewState
from hetcore.consensus.view_sum import MOST_SCORES, ViewCorrection, ViewSum, factors
from hetcore.consensus.view_weights import (
    SHARPNESS,
    consensus,
    deal,
    explained,
    fitted_mix,
    losses_of_each,
    losses_on_own_rows,
    needed,
    rivals_of,
    sharpness_for,
    slopes_on_parts,
    weights_of,
)
from hetcore.consensus.views import ViewColumns
from hetcore.targets import KnownLabels, Problem

__all__ = ["ViewConsensus", "choose_lambda1"]

LAMBDA1 = (0.0, 0.1, 0.3, 1.0, 3.0)
LOOKS = (5, 10, 20, 40, 80, 160)  # rounds after which "auto" looks again for lambda1
MOST_COMPARED = 20_000  # labelled rows on which views are compared that miss some
FAINT = 0.05  # of the largest weight, below which a view has no say in a pull
MOST_REGRESSED = 5_000  # labelled rows by which views of several tables are dealt to these
MOST_SMOOTHED = 16  # columns that are smoothed in one pass over the links
OF_LINKS = ("graph_weights", "lambda1", "paths", "blend", "residual_share", "missed")  # what lines 6 and 7 find
LEAST = 1e-200  # weight of a view of which (4.10) leaves nothing: it counts where no other covers a row


class StopRound(Exception):  # noqa: N818 - a wish of the person, no error
    """The rest of a round is not wanted any more."""


class ViewConsensus:
    """What the views of a fit say together.

    Attributes
    ----------
    problem : Problem
    outputs : Outputs
    columns : ViewColumns
    views : list of ViewState
    weights : (v,) float64
        w by view, without that of their sum.
    effective : (v,) float64
        Each view's part of E, that of the sum in it, on average over the labelled rows.
    relative : (v,) float64
        Each view's out-of-fold loss over the prior's.
    sum : ViewSum
    correction : ViewCorrection
    graph_weights : dict of str to float
        w^; 0 for a graph along which instances are not alike.
    lambda1, sharpness : float
        As given, or as chosen.
    residual_share : float
        How much of the neighbours' mean residual is added to e, in [0, 1]; 0 for classes.
    missed : (n, k) float64 or None
        Left-out residuals of the labelled rows, before that; 0 elsewhere.
    paths : dict of str to list of (float, float)
        Of each lambda that "auto" has chosen: the values tried, and the out-of-fold loss of each.
    cut : bool
        Whether the fit was to end in lines 6 and 7 of the present round, which are those of the round before.
    asked_to_stop : callable
        Returns whether the fit is to end, in the middle of a round too; `hetcore.base.boost` sets it.
    """

    columns: ViewColumns
    labels: KnownLabels
    n_folds: int
    asked_to_stop: Callable[[], bool] = staticmethod(lambda: False)

    def __init__(self, problem: Problem, params: dict[str, Any], executor: Executor) -> None:
        self.problem, self.params, self.executor = problem, params, executor
        self.paths: dict[str, list[tuple[float, float]]] = {}
        self.outputs = Outputs.of(problem.scale)
        self.n_rounds, self.blend = 0, None
        self.losses: list[float] = []
        self.cut = False

    def _begin(self, views: list[ViewState]) -> None:
        """Begin with views that have said nothing yet."""
        graphs, params = self.problem.data.graphs, self.params
        used = {name: graphs[name].adjacency() for name in self.columns.units if name in graphs}
        self.links = LinkBlend(used, self.executor.n_jobs)
        self.pairs = {}
        for name, each in self.links.links.items():
            links = each.astype(np.float64)
            self.pairs[name] = Pairs.of(links), Pairs.of(links, self.problem.labelled)
        self.graph_weights = dict.fromkeys(graphs, 0.0)
        self.lambda1 = 0.0 if params["lambda1"] == "auto" else float(params["lambda1"])
        self.residual_share, self.missed, self._of_unlabelled = 0.0, None, None
        self.sharpness = SHARPNESS[0] if params["sharpness"] == "auto" else float(params["sharpness"])
        self.views = views
        # what views say side by side, of which each view has its own
        self.scores, self.all_trained = (np.stack([view.scores for view in self.views]) for _ in range(2))
        for view, scores, trained in zip(self.views, self.scores, self.all_trained):
            view.scores, view.trained = scores, trained
        self._remember_labelled()
        # equal until the first round has said something
        self.weights, self.relative = np.full(len(self.views), 1.0 / len(self.views)), np.ones(len(self.views))
        self.sum = ViewSum(self.outputs, self.n_folds, len(self.views))
        self.correction = ViewCorrection(len(self.views), self.n_folds)
        self.effective = self.weights

    def _remember_labelled(self) -> None:
        """Keep of the labelled rows what weighs views, so that a round adds only what it has changed."""
        known = self.problem.labelled
        self.codes = self.outputs.label_smoothed(self.labels.codes[known])
        self.covers = np.stack([view.covers for view in self.views])
        self.seen = self.covers[:, known]
        # of very many labelled rows some tell as much
        step = max(1, -(-self.seen.shape[1] // MOST_COMPARED))
        self.rivals, self.patterns = rivals_of(self.seen, step), np.unique(self.seen[:, ::step], axis=1)
        self.prior_losses = self.outputs.loss(np.tile(self.outputs.prior, (len(self.codes), 1)), self.codes)
        self.predicted = np.stack([view.scores[known] for view in self.views])
        self.view_losses = np.tile(self.prior_losses, (len(self.views), 1))
        # the share of the prior's loss that each takes away, less one and less two standard errors
        self.explains, self.surely = np.zeros((2, len(self.views)))
        # labels that all are the same have no loss left
        self.alone_loss = max(float(self.prior_losses.mean()), 1e-300)

    def _hear(self, i: int) -> None:
        """Take note of what view i says now."""
        self.predicted[i] = self.views[i].scores[self.problem.labelled]
        self.view_losses[i] = self.outputs.loss(self.predicted[i], self.codes)
        self.explains[i], self.surely[i] = explained(self.prior_losses, self.view_losses[i])

    def member_consensus(self, asked: Any, some: NDArray[np.bool_], which: Any = True) -> NDArray[np.float64]:
        """Return E of some rows by fold (F, u, k), from the members that did not see that fold.

        Parameters
        ----------
        asked : callable
            Of the executor: `members` or `pulled_members`.
        some : (n,) bool
            The rows that it answers for: the unlabelled, or the pulled ones.
        which : (v,) bool, optional
            Views of E; all unless given.
        """
        place, prior = np.cumsum(some) - 1, self.outputs.prior
        # a little weight for all, so that an instance that only faint views cover still has an E
        weights, of_sum = self.weights * which + 1e-12 * np.asarray(which), self.sum.weight if which is True else 0.0
        # the largest say that each view has in any row
        say = factors(weights, of_sum, self.sum.scales, self.patterns).max(axis=1)
        # faint views are not asked: each costs a pass over its rows and moves E by less than noise
        # and where no labelled row has one of these views, all are as faint
        used = np.flatnonzero((say >= FAINT * say.max()) & which)
        covers = np.stack([self.views[i].covers[some] for i in used])
        parts = factors(weights[used], of_sum, self.sum.scales[used], covers)
        total = np.zeros((self.n_folds, int(some.sum()), self.outputs.k))
        for part, i, predicted in zip(parts, used, asked([self.views[i] for i in used])):
            spots = place[self.views[i].rows[some[self.views[i].rows]]]
            total[:, spots] += part[spots, None] * (predicted - prior)
        return prior + total

    def left_out_by(self, which: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Return E of the labelled rows (l, k), each as left out, from some views (v,) and without a sum of them.

        E of all, and with the sum, is nearer to the labels: measured by it, what some say would not be stretched.
        """
        return consensus((self.weights + 1e-12) * which, self.predicted, self.seen, self.outputs.prior)

    @property
    def view_names(self) -> list[str]:
        """The views' names."""
        return [view.name for view in self.views]

    @property
    def last_losses(self) -> dict[str, float]:
        """The out-of-fold loss of each view in its last round, by name."""
        return {view.name: view.losses[-1] for view in self.views if view.losses}

    def leads(self) -> NDArray[np.float64]:
        """Return by view (v,) the lowest loss, over the labelled rows it covers, of a view that covers them all."""
        found = np.zeros(len(self.views))
        for alike, rivals, rows in self.rivals:
            found[alike] = self.view_losses[np.ix_(rivals, rows)].mean(axis=1).min() if rows.size else 0.0
        return found

    def _weigh(self) -> None:
        """Lines 4 to 6."""
        known, self._of_unlabelled = self.problem.labelled, None
        losses = self.relative = self.view_losses.mean(axis=1) / self.alone_loss
        rule, covers = self.params["weights"], self.seen
        if rule not in ("learned", "equal"):
            held_to = weights_of(losses, rule, SHARPNESS[0])
            self.sum.fit(self.predicted, covers, self.codes, self.labels.fold[known], held_to)
        self.sum.combine(self.scores, self.all_trained, self.covers, self.labels.fold, self.executor.n_jobs)
        # fitted on the simplex, beginning at the rule's weights
        if rule == "learned":
            start = weights_of(losses, "entropy", 3.0)
            self.weights = fitted_mix(self.outputs, self.predicted, covers, self.codes, start)
        elif rule == "equal":
            self.weights = weights_of(losses, "equal", 1.0)
        else:
            self._weigh_with_sum(covers, self._on_own_rows(held_to))
        self.effective = self._mean_parts()
        self._combine()
        self._before = [getattr(self, name) for name in OF_LINKS]
        self.graph_weights, self.paths = dict(self.graph_weights), dict(self.paths)
        self.cut = False
        self._try(self._weigh_links)

    def _try(self, step: Callable[[], Any]) -> None:
        """Do a step of lines 6 and 7, or leave them if the fit is to end in it."""
        try:
            step()
        except StopRound:
            self._leave_links()

    def _leave_links(self) -> None:
        """Leave what links tell as in the round before."""
        self.cut = True
        for name, value in zip(OF_LINKS, self._before):
            setattr(self, name, value)
        # the sweeps of many links would keep whoever waits: e is moved from E as far as in the round before
        self.smooth, self.smooth_trained = self.left_out + self.moved[0], self.trained + self.moved[1]

    def _on_own_rows(self, weights: NDArray) -> NDArray[np.float64]:
        """Return what (4.10) takes, (v,): losses over the prior's, of the rows that each view covers.

        What is usual for a row is what the consensus by `weights`, of losses over all rows, loses there.
        """
        if self.seen.all():
            return self.relative
        usual = consensus(weights, self.predicted, self.seen, self.outputs.prior)
        return losses_on_own_rows(self.view_losses, self.seen, self.outputs.loss(usual, self.codes)) / self.alone_loss

    def _go_on(self) -> None:
        """Raise StopRound if the fit is to end; not in the first round, before which there is no model."""
        if self.n_rounds and self.asked_to_stop():
            raise StopRound

    def _weigh_links(self) -> None:
        """Line 6, and what line 7 needs."""
        self._weigh_graphs()
        # once a round, and not where nothing is smoothed: many graphs take seconds
        wanted = self._looks and (self._chooses or self._follows_residuals) or self.lambda1 or self.residual_share
        useful = any(self.graph_weights.values()) and wanted
        self.blend = self.links.of(self.graph_weights, self._go_on) if useful else None

    @property
    def _looks(self) -> bool:
        return self.n_rounds + 1 in LOOKS

    @property
    def _chooses(self) -> bool:
        return self.params["lambda1"] == "auto"

    @property
    def _follows_residuals(self) -> bool:
        return self.params["smooth_residuals"] and not self.outputs.is_classifier

    def _weigh_with_sum(self, covers: NDArray, losses: NDArray) -> None:
        """Line 5: the weights of the views and of their sum."""
        known, rule = self.problem.labelled, self.params["weights"]
        of_sum = self.sum.scores[known]
        # relative to the prior's loss, as those of the views
        losses = np.append(losses, self.outputs.loss(of_sum, self.codes).mean() / self.alone_loss)
        choices = sharpness_for(len(self.codes)) if self.params["sharpness"] == "auto" else (self.sharpness,)
        tried, best = np.array([weights_of(losses, rule, q) for q in choices]), 0
        # several powers cost little, as the views' scores are there already
        if len(tried) > 1:
            predicted, covers = np.vstack([self.predicted, of_sum[None]]), np.vstack([covers, self.sum.covers[known]])
            n_jobs = self.executor.n_jobs
            best = int(np.argmin(losses_of_each(self.outputs, tried, predicted, covers, self.codes, n_jobs=n_jobs)))
        # losses to a high power leave a view no weight, though it explains something where it is the only one
        self.weights = np.maximum(tried[best][:-1], LEAST * self.explains)
        self.sum.weight, self.sharpness = float(tried[best][-1]), choices[best]

    def _combine(self) -> None:
        """Line 5: E with labelled rows as left out, and as trained."""
        weights, covers = np.append(self.weights, self.sum.weight), np.vstack([self.covers, self.sum.covers])
        self.left_out = consensus(weights, [*self.scores, self.sum.scores], covers, self.outputs.prior)
        self.trained = consensus(weights, [*self.all_trained, self.sum.trained], covers, self.outputs.prior)
        # numbers alone, and not where weights are to be seen as they are
        if not self.outputs.is_classifier and self.params["weights"] not in ("learned", "equal"):
            self._correct()

    def _correct(self) -> None:
        """Line 5 for numbers: what the views together say of the consensus' residuals."""
        prior = self.outputs.prior
        # of very many rows some, which fit it as well
        known = np.flatnonzero(self.problem.labelled)
        some = slice(None, None, max(1, -(-known.size // MOST_SCORES)))
        rows = known[some]
        change = np.where(self.covers[:, rows], (self.predicted[:, some] - prior)[:, :, 0], 0.0)
        residuals = (self.codes[some] - self.left_out[rows])[:, 0]
        self.correction.fit(change, residuals, self.labels.fold[rows], self.explains > 0)
        self.left_out += self.correction.added(self.scores, self.covers, prior, self.labels.fold)
        self.trained += self.correction.added(self.all_trained, self.covers, prior)

    def _weigh_graphs(self) -> None:
        """Line 6, from what the views without a graph say, labels where known."""
        if self.pairs and self.params["weights"] == "equal":
            self.graph_weights |= {name: 1.0 / len(self.pairs) for name in self.pairs}
        elif self.pairs:
            plain = [i for i, view in enumerate(self.views) if not view.view.graphs]
            # views without a graph: one that sees neighbours makes linked instances alike by itself
            predicted = [self.views[i].scores for i in plain]
            # all of weight 0 would leave no mean
            weights = self.sum.effective(self.weights, self.relative)[plain] + 1e-9
            alone = consensus(weights, predicted, self.covers[plain], self.outputs.prior)
            fitted, known = self.outputs.fitted(alone), self.problem.labelled
            missed = self.labels.codes - fitted
            # a label, where there is one, says more than any prediction
            fitted = np.where(known[:, None], self.labels.codes, fitted)
            self.graph_weights |= graph_weights(self.pairs, fitted, missed)

    @property
    def working(self) -> NDArray[np.float64]:
        """The scores (n, k) that labelled rows' labels stand for; 0 elsewhere."""
        known = self.problem.labelled
        working = np.zeros_like(self.left_out)
        working[known] = self.outputs.working(self.left_out[known], self.labels.codes[known])
        return working

    def _lambda1_loss(self) -> Callable[[float], float]:
        """Return what gives the out-of-fold loss of e: each fold's labels hidden, its rows scored by its members."""
        known = self.problem.labelled

        def mean(lambda1: float) -> float:
            """Return the mean loss over all folds."""
            found = np.empty_like(self.codes)
            for own, e in self._with_hidden(lambda1):
                found[own[known]] = e[own]
            return float(self.outputs.loss(found, self.codes).mean())

        return mean

    @property
    def of_unlabelled(self) -> NDArray[np.float64]:
        """E of the unlabelled rows (F, u, k) by the members that have not seen a fold; of a round once."""
        if self._of_unlabelled is None:
            # what neighbours' labels say of an unlabelled row may be the label that is to be predicted beside it
            plain = [not view.view.sees_labels for view in self.views]
            which = plain if any(plain) else True
            self._of_unlabelled = self.member_consensus(self.executor.members, ~self.problem.labelled, which)
        return self._of_unlabelled

    def _with_hidden(self, lambda1: float) -> Iterator[tuple[NDArray[np.bool_], NDArray[np.float64]]]:
        """Return fold by fold which rows (n,) are its own, and e (n, k) where nobody has seen its labels.

        Else a label would come back to its row by way of neighbours that learned it, or are smoothed by it.
        """
        known, working, k = self.problem.labelled, self.working, self.outputs.k
        each = max(1, MOST_SMOOTHED // k)
        for first in range(0, self.n_folds, each):
            self._go_on()
            # some in one pass over the links
            folds = range(first, min(first + each, self.n_folds))
            scores = np.tile(self.left_out, len(folds))
            # unlabelled rows as the members of a fold say
            scores[~known] = np.hstack([self.of_unlabelled[fold] for fold in folds])
            rows = [self.labels.fold == fold for fold in folds]
            # a fold's own labels are hidden, its neighbours' not
            shown = np.repeat(np.stack([known & ~own for own in rows], axis=1), k, axis=1)
            given = self.blend, scores, lambda1, shown, np.tile(working, len(folds))
            found = smoothed(*given, go_on=self._go_on)
            yield from ((own, found[:, i * k : (i + 1) * k]) for i, own in enumerate(rows))

    def _smooth(self) -> None:
        """Line 7, with lambda1 as it is."""
        self.smooth, self.smooth_trained = self.left_out, self.trained
        # else nothing to smooth along, or nothing gained by it
        if self.blend is not None and self.lambda1:
            both, working = np.hstack([self.left_out, self.trained]), np.tile(self.working, 2)
            known = self.problem.labelled
            # in one pass over the links
            both = smoothed(self.blend, both, self.lambda1, known, working, go_on=self._go_on)
            self.smooth, self.smooth_trained = both[:, : self.outputs.k].copy(), both[:, self.outputs.k :]
            for own, e in self._with_hidden(self.lambda1):
                self.smooth[own] = e[own]
        self._add_residuals()
        self.moved = self.smooth - self.left_out, self.smooth_trained - self.trained

    def smooth_again(self) -> None:
        """Line 7 anew, after the rounds have ended."""
        self.cut = False
        self._try(self._smooth)

    def _add_residuals(self) -> None:
        """Line 7 for numbers: what the neighbours' labels were missed by, as far as it tells the labels left out."""
        if self.blend is None or not self._follows_residuals:
            self.residual_share = 0.0
            return
        known, fold = self.problem.labelled, self.labels.fold
        self.missed = np.where(known[:, None], self.labels.codes - self.smooth, 0.0)
        near = times(self.blend, self.missed)
        if self.n_rounds + 1 in LOOKS:
            self.residual_share = share_of_residuals(near[known, 0], self.missed[known, 0], near[~known, 0])
        if self.residual_share:
            # a row that is left out was predicted without the labels of its fold; numbers have one column
            shown = self.missed * (fold[:, None] != np.arange(self.n_folds))
            left_out = times(self.blend, shown)[known, fold[known]]
            self.smooth, self.smooth_trained = (
                each + self.residual_share * near for each in (self.smooth, self.smooth_trained)
            )
            self.smooth[known, 0] += self.residual_share * (left_out - near[known, 0])

    def _raw(self, scores: NDArray) -> NDArray[np.float64]:
        # from one score of two classes to two raw ones
        change = self.outputs.widened(scores - self.outputs.prior, self.problem.scale.n_outputs)
        return self.problem.scale.prior + change

    @property
    def raw(self) -> NDArray[np.float64]:
        """Raw scores (n, K); labelled rows as trained."""
        return self._raw(self.smooth_trained)

    @property
    def held_back(self) -> NDArray[np.float64]:
        """Raw scores (n, K); each labelled row by the members that did not see it."""
        return self._raw(self.smooth)

    def alone(self) -> dict[str, tuple[NDArray, NDArray]]:
        """Return by table what its own views say (n, K), and which instances it has."""
        found = {}
        for name in self.columns.tables.names:
            own = self._views_of(table=name)
            predicted = [self.views[i].scores for i in own]
            # a table's views have all weight 0 where it is worst; it is drawn all the same
            mixed = consensus(self.weights[own] + 1e-9, predicted, self.covers[own], self.outputs.prior)
            found[name] = self._raw(mixed), self.covers[own[0]]
        return found

    def shares(self) -> NDArray[np.float64]:
        """Return each view's shares (v, p + q) in what its tables and graphs explain: rows sum to 1."""
        own, change = self._own_views(), self._left_out_change()
        firm, some = np.where(own >= 0, self.surely[own], 0.0), np.where(own >= 0, self.explains[own], 0.0)
        tables = np.arange(own.size) < len(self.columns.tables.names)
        # a table of noise beats the prior by an error every now and then, and so does a random graph
        gains = np.where(firm[tables].any(), firm, some)
        gains[~tables] = np.where(firm[~tables].any(), firm[~tables], some[~tables])
        return deal(self._places(), change, self._telling(own, change, gains), gains)

    def slopes(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return each table's and graph's own view (p + q,), -1 for none, and views' slopes on these (v, p + q)."""
        own, change = self._own_views(), self._left_out_change()
        own = self._telling(own, change, np.where(own >= 0, self.explains[own], 0.0))
        return own, slopes_on_parts(self._places(), change, own)

    def _telling(self, own: NDArray[np.int64], change: NDArray, gains: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return own views (p + q,), -1 of those that gain nothing alone and are not needed beside the others."""
        codes = self.codes[self._some_labelled]
        alone = np.where((own >= 0)[:, None], change[own], 0.0).reshape(own.size, *codes.shape)
        used = (gains > 0) | needed(alone, codes - self.outputs.fitted(self.outputs.prior))
        # one of few rows may have none of those that are looked at
        return np.where(used & alone.any(axis=(1, 2)), own, -1)

    def _own_views(self) -> NDArray[np.int64]:
        """Return of each table and graph (p + q,) the view of it alone that explains the most; -1 without one.

        Of very many graphs some have none: those of linked alike instances count as all graphs together.
        """
        each = [self._views_of(table=name) for name in self.columns.tables.names]
        of_all = [i for i, view in enumerate(self.views) if len(view.view.graphs) > 1 and not view.view.tables]
        for name, weight in self.graph_weights.items():
            each.append(self._views_of(graph=name) or (of_all if weight else []))
        return np.array([max(those, key=lambda i: self.explains[i], default=-1) for those in each], np.int64)

    def _places(self) -> list[NDArray[np.int64]]:
        """Return by view which of all p + q tables and graphs it is of."""
        of_table = {name: i for i, name in enumerate(self.columns.tables.names)}
        of_graph = {name: i for i, name in enumerate(self.graph_weights, len(of_table))}
        views = (view.view for view in self.views)
        return [np.array([*map(of_table.get, of.tables), *map(of_graph.get, of.graphs)], np.int64) for of in views]

    def _views_of(self, table: str = "", graph: str = "") -> list[int]:
        """Return the views of one table alone, or of one graph."""
        only = ((table,), ()) if table else ((), (graph,))
        return [i for i, view in enumerate(self.views) if (view.view.tables, view.view.graphs) == only]

    @property
    def _some_labelled(self) -> slice:
        return slice(None, None, -(-len(self.codes) // MOST_REGRESSED))

    def _left_out_change(self) -> NDArray[np.float64]:
        """Return by view what it predicts of labelled rows less the prior (v, m), 0 where it does not cover."""
        some = self._some_labelled
        change = np.where(self.seen[:, some, None], self.predicted[:, some] - self.outputs.prior, 0.0)
        return change.reshape(len(change), -1)

    def dealt(self) -> NDArray[np.float64]:
        """Return the part of each view's weight that is each table's, then each graph's (v, p + q)."""
        return self.effective[:, None] * self.shares()

    def _mean_parts(self) -> NDArray[np.float64]:
        """Return `effective`: a table of few instances may have all of E there, and none elsewhere."""
        weights = self.sum.effective(self.weights, self.relative)
        if self.seen.all():
            return weights
        # no copy of all that is seen as numbers
        mass = np.einsum("v,vl->l", weights, self.seen)
        inverse = np.divide(1.0, mass, out=np.zeros_like(mass), where=mass > 0)
        return weights * np.einsum("vl,l->v", self.seen, inverse) / max(1, np.count_nonzero(mass))

    def source_weights(self, dealt: NDArray) -> dict[str, float]:
        """Return the sum of the views' weights that is each table's, normalised over the tables."""
        names = self.columns.tables.names
        held = dealt[:, : len(names)].sum(axis=0)
        total = held.sum()
        # where no table has weight, all explain the same
        return dict(zip(names, (held / total if total > 0 else np.full(len(names), 1 / len(names))).tolist()))


def choose_lambda1(going: Sequence[ViewConsensus], ended: Sequence[ViewConsensus] = ()) -> bool:
    """Choose one lambda1 for some fits, if it is time, by their mean out-of-fold loss; return whether it was.

    Those that have ended keep what they have if the others are to end here.
    """
    now, fits = going[0], [*going, *ended]
    if not (now._looks and now._chooses) or any(each.cut for each in fits):
        return False
    path: list[tuple[float, float]] = []
    try:
        losses = [each._lambda1_loss() for each in fits if each.blend is not None]
        for lambda1 in LAMBDA1 if losses else ():  # rising: once it is worse, it stays so
            path.append((lambda1, sum(loss(lambda1) for loss in losses) / len(losses)))
            if len(path) > 1 and path[-1][1] >= path[-2][1]:
                break
    except StopRound:
        for each in going:
            each._leave_links()
        return False
    for each in fits:
        # without a link there is nothing to smooth along
        each.lambda1 = min(path, key=lambda each: each[1])[0] if path else 0.0
        each.paths.pop("lambda1", None)
        each.paths |= {"lambda1": path} if path else {}
    return True
