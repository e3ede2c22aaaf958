"""What each source of a two-learner fit keeps: its columns, and the weak learners with their steps.

A modality has `fit(rows, target, ...)`, which returns a candidate and what it says of every record of the source,
`keep(candidate, step)` and `scores(source)`. Trees see binned columns; any other learner sees numbers: encoded columns,
standardised, 0 where missing, or the images of an array as they are, standardised together.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from hetcore.checks import whole
from hetcore.data import Source
from hetcore.data.encoding import SourceEncoder
from hetcore.errors import DataError, ModelFileError, ParameterError
from hetcore.forest import Forest
from hetcore.multimodal.networks import NetworkLearner
from hetcore.multimodal.risk import Exact
from hetcore.parameters import Domain
from hetcore.schema import Array, Part, Stored, Value, array, block, declared, part, prefixed
from hetcore.trees import BinMapper, Tree, TreeParams, grow

__all__ = ["MODALITIES", "Dense", "Inputs", "Trees", "default_learner", "scaling"]

MAX_BINS = 128
RIDGE = 1e-3
_PREPARED: WeakKeyDictionary[Source, dict[str, Any]] = WeakKeyDictionary()


def default_learner(source: Source) -> str:
    """Return "network" for an array (images, embeddings) and for a table with text, else "tree"."""
    return "network" if source.array is not None or "text" in source.kinds.values() else "tree"


def _encoded(source: Source) -> tuple[SourceEncoder, NDArray[np.float32]]:
    """Return a source's own encoder and its columns, made once for each `Source` object."""
    # by source object: several modalities and learners share what was encoded
    made = _PREPARED.setdefault(source, {})
    if "X" not in made:
        made["encoder"] = SourceEncoder().fit(source)
        made["X"] = made["encoder"].transform(source)
    return made["encoder"], made["X"]


class Trees(Stored):
    """A modality whose learners are trees with a vector in each leaf.

    Parameters
    ----------
    params : TreeParams
    encoder : SourceEncoder
    mapper : BinMapper
    n_outputs : int
        K.
    """

    kind = "tree"
    _stored = {
        "encoder": Part(SourceEncoder, "d"), "mapper": Part(BinMapper, "d", at="bins"), "forest": Part(Forest, "d K"),
    }  # fmt: skip

    def __init__(self, params: TreeParams, encoder: SourceEncoder, mapper: BinMapper, n_outputs: int) -> None:
        self.params, self.encoder, self.mapper = params, encoder, mapper
        self.forest = Forest(n_outputs)

    @classmethod
    def of(cls, source: Source, params: TreeParams, n_outputs: int) -> Trees:
        """Bin a source's columns."""
        encoder, X = _encoded(source)
        made = _PREPARED[source]
        if "binned" not in made:
            made["mapper"] = BinMapper(MAX_BINS).fit(X, 0)
            made["binned"] = made["mapper"].transform(X)
        modality = cls(params, encoder, made["mapper"], n_outputs)
        modality.binned = made["binned"]
        return modality

    def fit(self, rows: NDArray, target: NDArray, weights: NDArray | None, exact: Exact | None) -> tuple[Tree, NDArray]:
        """Grow a tree on some records.

        Parameters
        ----------
        rows : (m,) int
            Records of the source.
        target : (m, K) float64
            What to fit by least squares; with `exact`, how far the rows have moved already.
        weights : (m,) float64 or None
            Passed over: `exact` brings the whole Hessian.
        exact : Exact or None
            The second-order form of these rows.

        Returns
        -------
        tree : Tree
        predicted : (M, K) float64
            For all M records of the source.
        """
        gradients, hessians, unit = _tree_task(target, exact)
        # rows that are not fitted have gradient 0, and are not among `rows`
        full = np.zeros((self.binned.shape[1], target.shape[1]), np.float32)
        full[rows] = gradients
        curved = None
        if hessians is not None:
            curved = np.zeros_like(full)
            curved[rows] = hessians
        tree = grow(
            self.binned,
            full,
            curved,
            rows=rows.astype(np.int32),
            columns=None,
            params=self.params,
            n_bins=self.mapper.n_bins,
        )
        if exact is not None:
            _solve_leaves(tree, rows, exact, target)
        else:
            # back from the unit: trees see targets of about 1, whose float32 has digits to spare
            tree.values *= unit
        return tree, tree.predict(self.binned)

    def keep(self, candidate: Tree, step: float) -> None:
        """Add a tree."""
        self.forest.append(candidate, step)

    def __len__(self) -> int:
        """Return how many trees are kept."""
        return len(self.forest)

    def cut(self, count: int, weight: float) -> None:
        """Keep the first trees, `weight` times."""
        first, self.forest = self.forest.first(count), Forest(self.forest.n_outputs)
        self.forest.extend(first, weight)

    def scores(self, source: Source, name: str = "") -> NDArray[np.float64]:
        """Return the sum of the kept trees for the records of a source, (m, K)."""
        return self.forest.predict(self.mapper.transform(self.encoder.transform(source, name)))

    @classmethod
    def _made(cls, values: dict[str, Any], sizes: dict[str, int]) -> Trees:
        modality = cls(TreeParams(), values["encoder"], values["mapper"], sizes["K"])
        modality.forest = values["forest"]
        return modality


def _tree_task(target: NDArray, exact: Exact | None) -> tuple[NDArray, NDArray | None, float]:
    """Return gradients and hessians in float32's range, and the unit of the leaves' values."""
    if exact is None:
        unit = _rms(target)
        return (-target / unit).astype(np.float32), None, unit
    # all weights can be tiny once every row is right; the tree sees them relative to their mean
    unit = float(exact.weights.mean()) or 1.0
    return (exact.gradient(target) / unit).astype(np.float32), (exact.diagonal() / unit).astype(np.float32), 1.0


def _rms(values: NDArray) -> float:
    """Return the root mean square, 1 where all are zero."""
    largest = float(np.abs(values).max(initial=0.0))
    # of quotients: squares of large targets overflow
    return largest * float(np.sqrt(np.mean((values / largest) ** 2))) if largest > 0 else 1.0


def _solve_leaves(tree: Tree, rows: NDArray, exact: Exact, moved: NDArray) -> None:
    """Set each leaf to its Newton step with the whole Hessian, with a small ridge for the direction that is flat."""
    leaf, K = tree.row_leaf[rows], moved.shape[1]
    unit = float(exact.weights.mean()) or 1.0
    gradient, hessian = exact.gradient(moved) / unit, exact.hessian() / unit
    n_nodes = len(tree.nodes)
    pull = np.stack([np.bincount(leaf, gradient[:, k], n_nodes) for k in range(K)], axis=1)
    flat = hessian.reshape(len(leaf), K * K)
    curve = np.stack([np.bincount(leaf, flat[:, c], n_nodes) for c in range(K * K)], axis=1).reshape(n_nodes, K, K)
    used = np.flatnonzero(np.bincount(leaf, minlength=n_nodes))
    # a leaf of few rows has a singular curve
    ridge = RIDGE * np.trace(curve[used], axis1=1, axis2=2)[:, None, None] / K + 1e-12
    tree.values[used] = -np.linalg.solve(curve[used] + ridge * np.eye(K), pull[used][:, :, None])[:, :, 0]


SHAPE = Value(Domain(lambda v: all(whole(size) and size > 0 for size in v), "a shape"), tuple, list)


@dataclass
class Inputs(Stored):
    """How a source becomes a learner's numbers.

    Attributes
    ----------
    encoder : SourceEncoder
    centre, scale : (d,) float32
        Mean and 1 / deviation of each number; for images, of all of them together.
    shape : tuple of int
        Shape of a record for a learner of images; empty for a learner of columns.
    """

    kind = "inputs"
    encoder: SourceEncoder = part(SourceEncoder, "d")
    centre: NDArray[np.float32] = array("d", np.float32)
    scale: NDArray[np.float32] = array("d", np.float32)
    shape: tuple[int, ...] = declared(SHAPE)

    def _fault(self, sizes: dict[str, int]) -> str:
        fits = not self.shape or int(np.prod(self.shape)) == sizes["d"]
        return "" if fits else "The numbers of a branch in the model file do not fit its columns"

    @classmethod
    def of(cls, source: Source, as_images: bool) -> Inputs:
        """Learn the scale of a source's numbers."""
        encoder, X = _encoded(source)
        if as_images and (source.array is None or source.array.ndim not in (3, 4)):
            what = "a table" if source.array is None else f"an array of shape {source.array.shape[1:]} a record"
            raise DataError(f"A learner of images was given {what}: give an array (m, height, width[, channels]).")
        # grey images have no channel: one is made
        shape = (*source.array.shape[1:], *([1] if source.array.ndim == 3 else [])) if as_images else ()
        return cls(encoder, *scaling(X, as_images), shape)

    def transform(self, source: Source, name: str = "") -> NDArray[np.float32]:
        """Return the numbers of a source's records, (m, d), or (m, height, width, channels)."""
        made = _PREPARED.get(source, {})
        X = made["X"] if made.get("encoder") is self.encoder else self.encoder.transform(source, name)
        # missing is the mean once standardised
        X = np.nan_to_num((X - self.centre) * self.scale, copy=False, nan=0.0)
        return X.reshape(len(X), *self.shape) if self.shape else np.ascontiguousarray(X)


def scaling(X: NDArray, together: bool) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return mean and 1 / deviation (d,) of the columns of X (m, d), or those of all its numbers; 0 for a constant."""
    known = ~np.isnan(X)
    axis = None if together else 0
    count = np.maximum(known.sum(axis=axis), 1)
    mean = np.where(known, X, 0.0).sum(axis=axis, dtype=np.float64) / count
    spread = np.sqrt((np.where(known, X - mean, 0.0) ** 2).sum(axis=axis, dtype=np.float64) / count)
    # a constant column becomes 0, rather than noise divided by noise
    scale = np.where(spread > 1e-9 * np.maximum(np.abs(mean), 1.0), 1.0 / np.maximum(spread, 1e-30), 0.0)
    return np.full(X.shape[1], mean, np.float32), np.full(X.shape[1], scale, np.float32)


class Weights:
    """Arrays of learners as a file has them, which the learners check."""

    def put(self, name: str, given: dict[str, NDArray], meta: dict[str, Any], arrays: dict[str, NDArray]) -> None:
        """Add them to what a file holds."""
        meta["learner"] = {}
        arrays |= prefixed(name, given)

    def get(self, name: str, meta: Mapping[str, Any], arrays: Mapping[str, NDArray], sizes: dict[str, int]) -> dict:
        """Return them."""
        return block(arrays, name)


class Dense(Stored):
    """A modality whose learners are anything with `fit(X, W)` and `predict(X)`, a network for one.

    Parameters
    ----------
    learner : object
        Copied for every fit. `takes_images = True` on it asks for images rather than columns; a `sample_weight` in the
        arguments of its `fit` is used; one with `random_state` gets a new one for every fit.
    inputs : Inputs
    n_outputs : int
        K.
    scale_targets : bool, default=True
        Whether learners are fitted to targets of root mean square 1, and what they say is multiplied back. The paper
        does not; a network's pace depends on that unit, and w shrinks from round to round.
    """

    _stored = {
        "encoder": Part(SourceEncoder, "d"), "learners": Weights(), "centre": Array("d", np.float32),
        "scale": Array("d", np.float32), "steps": Array("T"), "shape": SHAPE,
    }  # fmt: skip

    def __init__(self, learner: Any, inputs: Inputs, n_outputs: int, scale_targets: bool = True) -> None:
        self.learner, self.inputs, self.n_outputs, self.scale_targets = learner, inputs, n_outputs, scale_targets
        self.kept: list[tuple[Any, float]] = []
        self._fits = 0

    @classmethod
    def of(cls, source: Source, learner: Any, n_outputs: int, scale_targets: bool = True) -> Dense:
        """Scale a source's numbers."""
        _check_learner(learner)
        inputs = Inputs.of(source, bool(getattr(learner, "takes_images", False)))
        modality = cls(learner, inputs, n_outputs, scale_targets)
        modality.X = modality.inputs.transform(source)
        return modality

    def fit(self, rows: NDArray, target: NDArray, weights: NDArray | None, exact: Exact | None) -> tuple[Any, NDArray]:
        """Fit a copy of the learner to some records; see `Trees.fit`. `exact` becomes a target and row weights.

        Without any record the learner counts for nothing.
        """
        candidate, nothing = copy.deepcopy(self.learner), len(rows) == 0
        # no row has the source: a learner of nothing, which counts for 0
        if nothing:
            rows, target, weights = np.zeros(1, np.int64), np.zeros((1, target.shape[1])), None
        elif exact is not None:
            target, weights = exact.target(target), exact.row_weights()
        unit = _rms(target) if self.scale_targets else 1.0
        if hasattr(candidate, "random_state"):
            candidate.random_state = int(self.learner.random_state or 0) + self._fits
        self._fits += 1
        # asked for, for not every learner takes weights
        weighted = weights is not None and "sample_weight" in inspect.signature(candidate.fit).parameters
        candidate.fit(self.X[rows], target / unit, **({"sample_weight": weights} if weighted else {}))
        unit = 0.0 if nothing else unit
        return (candidate, unit), _outputs_of(candidate, self.X, self.n_outputs) * unit

    def keep(self, candidate: tuple[Any, float], step: float) -> None:
        """Add a learner."""
        learner, unit = candidate
        self.kept.append((learner, step * unit))

    def __len__(self) -> int:
        """Return how many learners are kept."""
        return len(self.kept)

    def cut(self, count: int, weight: float) -> None:
        """Keep the first learners, `weight` times."""
        self.kept = [(learner, weight * step) for learner, step in self.kept[:count]]

    def scores(self, source: Source, name: str = "") -> NDArray[np.float64]:
        """Return the sum of the kept learners for the records of a source, (m, K)."""
        X, total = self.inputs.transform(source, name), np.zeros((source.n_rows, self.n_outputs))
        for learner, step in self.kept:
            total += step * _outputs_of(learner, X, self.n_outputs)
        return total

    @property
    def kind(self) -> str:
        """What the learner is called in a file; ParameterError if its weights are not known to be plain arrays."""
        if getattr(self.learner, "pack", None) is None:
            name = type(self.learner).__name__
            raise ParameterError(f"A model with a learner {name} can't be saved: use 'tree', 'network' or 'cnn'.")
        return self.learner.kind

    def _held(self) -> dict[str, Any]:
        inputs = {name: getattr(self.inputs, name) for name in ("encoder", "centre", "scale", "shape")}
        steps = np.array([step for _, step in self.kept], np.float64)
        learners = [learner for learner, _ in self.kept] if self.kind else []
        return inputs | {"learners": self.learner.pack(learners)[1], "steps": steps}

    @classmethod
    def _made(cls, values: dict[str, Any], sizes: dict[str, int]) -> Dense:
        weights, steps, learner = values.pop("learners"), values.pop("steps"), cls.learner_class()
        # fields of the file are those of its inputs
        inputs, images = Inputs(**values), bool(getattr(learner, "takes_images", False))
        modality, shape = cls(learner(), inputs, sizes["K"]), inputs.shape
        if len(shape) != 3 * images or inputs._fault(sizes):
            raise ModelFileError("The shape of the images in the model file is wrong: save the model again.")
        size = shape if images else (sizes["d"],)
        modality.kept = list(zip(learner.unpack({}, weights, size, sizes["K"], len(steps)), steps.tolist()))
        return modality

    @staticmethod
    def learner_class() -> type:
        """Return the class of the learners of a file."""
        return NetworkLearner


class DenseImages(Dense):
    """A modality of a file whose learners are convolutional networks; PyTorch is asked for only when it is needed."""

    @staticmethod
    def learner_class() -> type:
        """Return the class of the learners of a file."""
        from hetcore.multimodal.deep import ConvolutionalLearner

        return ConvolutionalLearner


MODALITIES = {"tree": Trees, "network": Dense, "cnn": DenseImages}


def _check_learner(learner: Any) -> None:
    if not (callable(getattr(learner, "fit", None)) and callable(getattr(learner, "predict", None))):
        name = type(learner).__name__
        raise ParameterError(f"A learner of type {name} lacks fit(X, W) or predict(X): give one that has both.")


def _outputs_of(learner: Any, X: NDArray, n_outputs: int) -> NDArray[np.float64]:
    predicted = np.asarray(learner.predict(X), np.float64).reshape(len(X), -1)
    if predicted.shape[1] != n_outputs or not np.isfinite(predicted).all():
        rule = f"predict must return finite numbers of shape ({len(X)}, {n_outputs})"
        raise DataError(f"The learner {type(learner).__name__} returned {predicted.shape}: {rule}.")
    return predicted
