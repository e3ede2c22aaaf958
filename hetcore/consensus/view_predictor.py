"""What remains of a fit of the default: everything that predicts, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from hetcore.binning import BinMapper
from hetcore.consensus.ard_kernel import ArdPrediction
from hetcore.consensus.boosting import ViewBoosting
from hetcore.consensus.kernel_ridge import SmoothPrediction
from hetcore.consensus.link_sums import times
from hetcore.consensus.outputs import Outputs
from hetcore.consensus.predictor import in_no_table
from hetcore.consensus.smoothing import LinkBlend, smoothed
from hetcore.consensus.table_views import ARD, DataView, View
from hetcore.consensus.view_learners import predict_with
from hetcore.consensus.view_sum import factors
from hetcore.consensus.views import SEEN_LACKING, ViewColumns
from hetcore.data import HetData
from hetcore.data.identity import positions
from hetcore.errors import ModelFileError
from hetcore.forest import Forest
from hetcore.parameters import Interval
from hetcore.schema import IDS, SHARES, Array, Stored, array, block, checked, declared, part, prefixed, value
from hetcore.targets import KnownLabels, Scale

__all__ = ["LabelMemory", "ViewModel", "added"]

OWN = 1e-9  # added to the weights of a table's own views, of which all may have none where others are better
FAINTEST = 1e-30  # of what is said of a row, below which a view is not asked: no digit of a sum tells it

class Blocks:
    """The arrays of each view's learner as a file has them; `ViewModel` checks them by what its columns are."""

    def put(self, name: str, given: list[dict[str, NDArray]], meta: dict[str, Any], arrays: dict[str, NDArray]) -> None:
        """Add them to what a file holds."""
        for i, kept in enumerate(given):
            arrays |= prefixed(f"view {i}", kept)

    def get(self, name: str, meta: Mapping[str, Any], arrays: Mapping[str, NDArray], sizes: dict[str, int]) -> list:
        """Return them, view by view; of one that went no further than in the fit of all views there are none."""
        return [block(arrays, f"view {i}") for i in range(sizes["v"])]


@dataclass
class LabelMemory(Stored):
    """The labelled instances of the fit.

    Attributes
    ----------
    ids : polars Series of String (l,)
    codes : (l, k) float64
    fold : (l,) int64
    working : (l, k) float64
        The scores that their labels stand for, to their neighbours.
    bare : (b,) int64 or None
        Rows of those that no table had a record of; None in older files.
    missed : (l, k) float64 or None
        What their labels were missed by, where their neighbours have a share of it.
    """

    ids: pl.Series = declared(IDS)
    codes: NDArray[np.float64] = array("n k")
    fold: NDArray[np.int64] = array("n", np.int64, 0, 99)
    working: NDArray[np.float64] = array("n k")
    bare: NDArray[np.int64] | None = array("b", np.int64, 0, optional=True)
    missed: NDArray[np.float64] | None = array("n k", optional=True)

    def _fault(self, sizes: dict[str, int]) -> str:
        return "" if len(self.ids) == sizes["n"] else "The model file does not remember one row for each of its ids"

    def stripped(self, bare: NDArray[np.bool_], data: HetData) -> int:
        """Return how many instances without a record, `bare` (n,), had one in the fit."""
        place = positions(data.id_series, self.ids)[bare]
        place = place[place >= 0]
        if self.bare is None:
            # a few may have had none in the fit either, of which the file does not know
            return len(place) if len(place) >= SEEN_LACKING else 0
        return int((~np.isin(place, self.bare)).sum())

    def of(self, data: HetData) -> tuple[KnownLabels, NDArray[np.float64]]:
        """Return the labels of the fit and their scores (n, k), by instance of any data."""
        place = positions(data.id_series, self.ids)
        met = np.flatnonzero(place >= 0)
        codes, working = np.zeros((2, data.n, self.codes.shape[1]))
        fold = np.full(data.n, -1, np.int64)
        codes[met], working[met], fold[met] = (each[place[met]] for each in (self.codes, self.working, self.fold))
        return KnownLabels(codes, fold), working

    def residuals(self, data: HetData) -> NDArray[np.float64]:
        """Return what the labels of the fit were missed by (n, k), by instance of any data; 0 for others."""
        place, missed = positions(data.id_series, self.ids), np.zeros((data.n, self.codes.shape[1]))
        missed[place >= 0] = self.missed[place[place >= 0]]
        return missed


@dataclass
class UnlinkedVotes(Stored):
    """What the views that see no graph say of new instances without a link: see `ViewBoosting.unlinked`.

    Attributes
    ----------
    ids : polars Series of String (r,)
        The instances of the fit without a link: they are not new.
    weights, learners, scales, correction
        Of the views that see no graph, as of `ViewModel`; nothing of a learner that has not gone on.
    """

    ids: pl.Series = declared(IDS)
    weights: NDArray[np.float64] = array("v", low=0, high=1 + 1e-9)
    learners: list[dict[str, NDArray]] = declared(Blocks())
    scales: NDArray[np.float64] | None = array("v", low=0, key="sum", optional=True)
    correction: NDArray[np.float64] | None = array("v", optional=True)

    @classmethod
    def of(cls, state: ViewBoosting) -> UnlinkedVotes | None:
        """Return what a fit leaves for them, once its own views have been kept; None where those serve them."""
        other = state.unlinked()
        if other is None:
            return None
        before = {view.name: view.best for view in state.views}
        kept = [{} if view.best == before[view.name] else each for view, each in zip(other.views, other.finish())]
        ids = state.problem.data.id_series.filter(pl.Series(state.bare))
        return cls(ids, other.weights, kept, *_sum_and_correction(other))

    def new(self, data: HetData, linked: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return which of any instances it is asked of, (n,)."""
        return ~linked & (positions(data.id_series, self.ids) < 0)


class Voter(NamedTuple):
    """A view of some data, how it is dealt, its slopes on what its parts predict alone, and what its learner kept."""

    made: DataView
    share: NDArray[np.float64]
    slope: NDArray[np.float64]
    kept: dict[str, NDArray]


@dataclass
class ViewModel(Stored):
    """The default GBC after its last round.

    Attributes
    ----------
    scale : Scale
    weights : (v,) float64
        w by view.
    shares : (v, p + q) float64
        How each view's contribution is dealt to tables and graphs, but for what each of these predicts alone.
    memory : LabelMemory
    learners : list of dict
        What each view's learner kept.
    columns : ViewColumns
    graph_weights : dict of str to float
        w^ of all q graphs.
    lambda1 : float
    residual_share : float
        Of the neighbours' mean residual that is added; 0 in older files.
    scales : (v,) float64 or None
        b of the sum of the views, whose own weight is what `weights` lacks of 1; None where they are not summed.
    correction : (v,) float64 or None
        d, by how much more or less each view counts; None where the consensus is not corrected, and in older files.
    unlinked : UnlinkedVotes or None
        What predicts new instances without a link, where the views above do not serve them.
    own : (p + q,) int64 or None
        The view of each table or graph alone; -1 for none. None in older files.
    slopes : (v, p + q) float64 or None
        Of views of several on what each predicts alone.
    """

    kind = "views"

    # In the order in which a file is read: the number of views, which `Blocks` counts by, is that of the weights.
    scale: Scale | None
    weights: NDArray[np.float64] = array("v", low=0, high=1 + 1e-9)
    shares: NDArray[np.float64] = array("v g", low=0, high=1 + 1e-9)
    memory: LabelMemory = part(LabelMemory, "k", inline=True)
    learners: list[dict[str, NDArray]] = declared(Blocks())
    columns: ViewColumns = part(ViewColumns, at="")
    graph_weights: dict[str, float] = value(SHARES, key="graphs")
    lambda1: float = value(Interval(0, 1e9))
    residual_share: float = value(Interval(0, 1), absent=0.0)
    scales: NDArray[np.float64] | None = array("v", low=0, key="sum", optional=True)
    correction: NDArray[np.float64] | None = array("v", optional=True)
    unlinked: UnlinkedVotes | None = part(UnlinkedVotes, "k", optional=True)
    own: NDArray[np.int64] | None = array("g", np.int64, -1, optional=True)
    slopes: NDArray[np.float64] | None = array("v g", optional=True)

    @cached_property
    def outputs(self) -> Outputs:
        """The loss and its scores."""
        return Outputs.of(self.scale)

    @classmethod
    def of(cls, state: ViewBoosting) -> ViewModel:
        """Return the model of a fit's state."""
        known, labels = state.problem.labelled, state.labels
        ids = state.problem.data.id_series.filter(pl.Series(known))
        bare = np.flatnonzero(in_no_table(state.problem.data, state.columns.tables.names)[known])
        missed = state.missed[known] if state.residual_share else None
        of_labelled = labels.codes[known], labels.fold[known], state.working[known]
        memory = LabelMemory(ids, *of_labelled, bare=bare, missed=missed)
        return cls(
            scale=state.problem.scale,
            weights=state.weights,
            shares=state.shares(),
            memory=memory,
            learners=state.finish(),
            columns=state.columns,
            graph_weights=dict(state.graph_weights),
            lambda1=state.lambda1,
            residual_share=state.residual_share,
            **dict(zip(("scales", "correction"), _sum_and_correction(state))),
            unlinked=UnlinkedVotes.of(state),
            **dict(zip(("own", "slopes"), state.slopes())),
        )

    @property
    def source_names(self) -> list[str]:
        return self.columns.tables.names

    def stripped(self, data: HetData) -> int:
        """Return how many labelled instances of the fit have a link in some data and no record, which they had there.

        0 where many of the fit lacked one.
        """
        names, lacked = self.source_names, self.columns.lacked
        # of a source that nearly each labelled instance had
        if lacked is None or lacked[: len(names)].all():
            return 0
        linked = np.zeros(data.n, bool)
        for name in self.graph_weights:
            if name in data.graphs:
                linked |= data.graphs[name].degree > 0
        return self.memory.stripped(linked & in_no_table(data, names), data)

    def contributions(self, data: HetData) -> list[NDArray[np.float64]]:
        """Return what of the raw score is each table's, then each graph's, by its share in each view, (n, K) each."""
        return self._parts(data, None)

    def by_row(self, data: HetData) -> tuple[list[NDArray[np.float64]], list[NDArray[np.float64]]]:
        """Return that, and what each adds to the raw score of each row, which has the same sum but for rounding.

        What a view of several predicts is, as far as by its slopes, what each of them predicts of the row alone.
        """
        # where no view is of several, as of tables too large to be joined, there is no room for what moves
        if self.slopes is None or not self.slopes.any():
            plain = self._parts(data, None)
            return plain, plain
        moved = np.zeros((len(self.source_names) + len(self.graph_weights), data.n, self.outputs.k))
        plain = self._parts(data, moved)
        return plain, [part + self.outputs.widened(each, self.scale.n_outputs) for part, each in zip(plain, moved)]

    def _parts(self, data: HetData, moved: NDArray | None) -> list[NDArray[np.float64]]:
        """Return what is each's by share; if asked, add to `moved` (p + q, n, k) what by row is another's."""
        labels, working = self.memory.of(data)
        present = self._present(data)
        parts = np.zeros((len(present), data.n, self.outputs.k))
        slopes = np.zeros_like(self.shares) if self.slopes is None else self.slopes
        views = self.columns.transform(data, labels)
        voters = [Voter(*each) for each in zip(views, self.shares, slopes, self.learners)]
        self._vote(parts, moved, voters, _factors(self, data.n, views), present)
        parts += self._smoothing(data, parts.sum(axis=0), labels, working, present)
        if self.unlinked is not None:
            new = self.unlinked.new(data, present[len(self.source_names) :].any(axis=0))
            for each in (parts,) if moved is None else (parts, moved):
                each[:, new] = 0.0
            of_tables = [voter for voter in voters if not voter.made.view.graphs]
            kept = self.unlinked.learners
            gone_on = [voter._replace(kept=each or voter.kept) for voter, each in zip(of_tables, kept)]
            counts = _factors(self.unlinked, data.n, [voter.made for voter in gone_on]) * new
            self._vote(parts, moved, gone_on, counts, present)
        return [self.outputs.widened(part, self.scale.n_outputs) for part in parts]

    def alone(self, data: HetData) -> list[NDArray[np.float64]]:
        """Return what each table's own views add to the prior by themselves, (n, K) each; NaN without a record."""
        labels, _ = self.memory.of(data)
        made = list(zip(self.columns.transform(data, labels), self.weights + OWN, self.learners))
        found = []
        for name, has in zip(self.source_names, self._present(data)):
            own = [each for each in made if each[0].view.tables == (name,) and not each[0].view.graphs]
            change = np.where(has[:, None], np.zeros(self.outputs.k), np.nan)
            for view, weight, kept in own:
                predicted = predict_with(kept, view.X, self.outputs, view.key)
                change[view.rows] += weight / sum(each for _, each, _ in own) * predicted
            found.append(self.outputs.widened(change, self.scale.n_outputs))
        return found

    def _vote(
        self,
        parts: NDArray,
        moved: NDArray | None,
        voters: list[Voter],
        counts: NDArray[np.float64],
        present: NDArray[np.bool_],
    ) -> None:
        """Add what views predict, times how much each counts for each row (v, n)."""
        known: dict[View, NDArray] = {}
        alone = None if moved is None else self._of_parts(voters, present, known)
        for voter, factor in zip(voters, counts):
            # (4.10) leaves some views less than a digit of what the others say
            if np.abs(factor).max(initial=0.0) > FAINTEST:
                rows, share = voter.made.rows, voter.share
                before = known.get(voter.made.view)
                predicted = factor[rows, None] * (self._predicted(voter) if before is None else before)
                # mostly a view is of one table: to deal it to each of hundreds takes longer than to predict
                own = np.flatnonzero(share)
                if own.size == 1 and present[own[0], rows].all():
                    parts[own[0], rows] += predicted
                else:
                    parts[:, rows] += _dealt(share, present[:, rows])[:, :, None] * predicted
                if alone is not None and voter.slope.any():
                    dealt = _dealt(share, present[:, rows])
                    moved[:, rows] += _moved(factor[rows], voter.slope, alone[:, rows], dealt)

    def _predicted(self, voter: Voter) -> NDArray[np.float64]:
        return predict_with(voter.kept, voter.made.X, self.outputs, voter.made.key)

    def _of_parts(
        self, voters: list[Voter], present: NDArray[np.bool_], known: dict[View, NDArray]
    ) -> NDArray[np.float64]:
        """Return what each table and graph predicts alone, less the prior, (p + q, n, k); 0 where it is not.

        What their views predict of their rows is added to `known`.
        """
        alone = np.zeros((*present.shape, self.outputs.k))
        by_view = {voter.made.view: voter for voter in voters}
        own = np.where(self.slopes.any(axis=0), self.own, -1)
        for i in dict.fromkeys(own[own >= 0].tolist()):
            voter = by_view.get(self.columns.views[i])
            # new instances without a link are asked of no graph, and a table that is not there of nothing
            if voter is not None and voter.made.rows.size:
                rows, predicted = voter.made.rows, self._predicted(voter)
                known[voter.made.view] = predicted
                for place in np.flatnonzero(own == i):
                    alone[place, rows] = present[place, rows, None] * predicted
        return alone

    def _present(self, data: HetData) -> NDArray[np.bool_]:
        """Return which instances have each table and a link in each graph, (p + q, n)."""
        names, graphs = self.source_names, list(self.graph_weights)
        present = np.zeros((len(names) + len(graphs), data.n), bool)
        for row, name in zip(present, names):
            if name in data.sources:
                row[data.rows(name)] = True
        for row, name in zip(present[len(names) :], graphs):
            if name in data.graphs:
                row[:] = data.graphs[name].degree > 0
        return present

    def _smoothing(
        self, data: HetData, change: NDArray, labels: KnownLabels, working: NDArray, present: NDArray[np.bool_]
    ) -> NDArray[np.float64]:
        """Return what smoothing along the links adds, dealt to the graphs by their weights, (p + q, n, k)."""
        parts = np.zeros((len(present), *change.shape))
        there = [name for name in self.graph_weights if name in data.graphs]
        if not (self.lambda1 or self.residual_share) or not any(self.graph_weights[name] for name in there):
            return parts
        scores = self.outputs.prior + change
        blend = LinkBlend({name: data.graphs[name].adjacency() for name in there}).of(self.graph_weights)
        moved = smoothed(blend, scores, self.lambda1, labels.known, working) - scores
        if self.residual_share:
            moved += self.residual_share * times(blend, self.memory.residuals(data))
        own = np.concatenate([np.zeros(len(self.source_names)), list(self.graph_weights.values())])
        return _dealt(own, present)[:, :, None] * moved

    def fitted(self, data: HetData, graph_weights: Any, adds: list[NDArray]) -> NDArray[np.float64]:
        """Return probabilities (n, K) or standardised numbers (n, 1) from the contributions."""
        return self.scale.fitted(self.scale.prior + sum(adds))

    @classmethod
    def _made(cls, values: dict[str, Any], sizes: dict[str, int]) -> ViewModel:
        return cls(None, **values)  # the estimator's file has the scale, and hands it over

    def _fault(self, sizes: dict[str, int]) -> str:
        views, kept, graphs = self.columns.views, self.learners, self.graph_weights
        count = (len(views), len(self.columns.tables.names) + len(graphs))
        if self.residual_share and self.memory.missed is None:
            return "The model file has not what the labels of linked instances were missed by"
        if self.shares.shape != count or not set(self.columns.units) <= set(graphs):
            return "The weights of the model file's views do not fit together"
        by_category = self.columns.by_category
        if by_category is not None and self.memory.fold.max(initial=0) >= by_category.sums.shape[1]:
            return "The folds of the model file are not those of its labels by category"
        if (self.own is None) != (self.slopes is None) or (self.own is not None and self.own.max() >= count[0]):
            return "The model file does not have what each table predicts alone"
        of_tables = [view for view in views if not view.graphs]
        held = list(zip(views, kept))
        if self.unlinked is not None:
            if len(self.unlinked.learners) != len(of_tables):
                return "The views of the model file for instances without links are not those of its tables"
            held += [each for each in zip(of_tables, self.unlinked.learners) if each[1]]
        for view, each in held:
            _check_learner(view, each, self.columns.width(view, sizes["k"]), sizes["k"])
        return ""


def _sum_and_correction(state: ViewBoosting) -> tuple[NDArray[np.float64] | None, NDArray[np.float64] | None]:
    """Return b and d of a fit, None where the views are not summed, or their consensus is not corrected."""
    correction = state.correction.scales
    return state.sum.scales if state.sum.weight else None, correction if correction.any() else None


def _factors(votes: ViewModel | UnlinkedVotes, n: int, views: list[DataView]) -> NDArray[np.float64]:
    """Return how much each view counts for each of n rows, (v, n)."""
    covers = np.zeros((len(views), n), bool)
    for row, made in zip(covers, views):
        row[made.rows] = True
    of_sum = 0.0 if votes.scales is None else max(0.0, 1.0 - float(votes.weights.sum()))
    scales = np.zeros(len(views)) if votes.scales is None else votes.scales
    counts = factors(votes.weights, of_sum, scales, covers)
    return counts if votes.correction is None else counts + votes.correction[:, None] * covers


def added(state: ViewBoosting, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return what each table, then each graph, adds to the raw score of some instances of the fit in its present round.

    After the last round it is what `ViewModel.contributions` says of them.

    Parameters
    ----------
    state : ViewBoosting
    rows : (m,) int64
        In the data of the fit.

    Returns
    -------
    (m, p + q, K) float64
        In the labels' unit, or raw scores of each class.
    """
    tables, graphs = state.columns.tables.names, state.problem.data.graphs
    masks = [state.problem.data.rows(name) for name in tables]
    present = np.array([np.isin(rows, mask) for mask in masks] + [each.degree[rows] > 0 for each in graphs.values()])
    covers = np.stack([view.covers[rows] for view in state.views])
    counts = factors(state.weights, state.sum.weight, state.sum.scales, covers)
    counts += state.correction.scales[:, None] * covers
    change = counts[:, :, None] * (np.stack([view.trained[rows] for view in state.views]) - state.outputs.prior)
    (own, slopes), alone = state.slopes(), np.zeros((len(present), *change.shape[1:]))
    for place in np.flatnonzero(own >= 0):
        view = state.views[own[place]]
        alone[place] = (present[place] & view.covers[rows])[:, None] * (view.trained[rows] - state.outputs.prior)
    # what is left of each view is dealt by its shares
    change -= counts[:, :, None] * np.tensordot(slopes, alone, 1)
    dealt = _dealt(np.asarray(state.shares()), present)
    parts = np.matmul(dealt.transpose(2, 1, 0), change.transpose(1, 0, 2)).transpose(1, 0, 2)  # (p, m, K)
    parts += (slopes.T @ counts)[:, :, None] * alone
    own = np.concatenate([np.zeros(len(tables)), list(state.graph_weights.values())])
    parts += _dealt(own, present)[:, :, None] * (state.smooth_trained - state.trained)[rows]
    scale = state.problem.scale
    return np.stack([state.outputs.widened(part, scale.n_outputs) for part in parts], axis=1) * scale.deviation


LINEAR = {"constant": Array("m k"), "range": Array("two", allows="inf")}


def _check_learner(view: View, kept: Mapping[str, NDArray], width: int, k: int) -> None:
    sizes = {"d": width, "K": k, "k": k, "two": 2}
    if view.sees == "trees":
        BinMapper._read({}, kept, sizes)
        Forest._read({}, kept, sizes)
        return
    constant = checked(LINEAR, {}, kept, sizes)["constant"]
    outputs = {"d": width, "K": constant.size}
    if view.learner == "kernel":
        SmoothPrediction(kept, outputs)
    elif view.learner == ARD:
        ArdPrediction(kept, outputs | {"F": len(constant)})
    else:
        Array("d K").read(kept, "coefficients", outputs)
    if not constant.size:
        raise ModelFileError("A learner of the model file has no constant: save the model again.")


def _moved(factor: NDArray, slope: NDArray, alone: NDArray, dealt: NDArray) -> NDArray[np.float64]:
    """Return what of a view is each part's by row and not by its share (g, m, k); their sum is 0 but for rounding.

    Parameters
    ----------
    factor : (m,) float64
        By what the view's prediction is multiplied.
    slope : (g,) float64
    alone : (g, m, k) float64
        What each part predicts alone, less the prior.
    dealt : (g, m) float64
        The parts' shares of what is left.
    """
    used = np.flatnonzero(slope)
    by_row = slope[used, None, None] * alone[used] * factor[:, None]
    found = -dealt[:, :, None] * by_row.sum(axis=0)
    found[used] += by_row
    return found


def _dealt(share: NDArray, present: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return shares (…, p, m) in proportion to `share` (…, p) over what is present (p, m); alike where all are 0."""
    held = share[..., None] * present
    total = held.sum(axis=-2, keepdims=True)
    alike = present / np.maximum(present.sum(axis=0), 1)
    return np.where(total > 0, held / np.where(total > 0, total, 1.0), alike)
