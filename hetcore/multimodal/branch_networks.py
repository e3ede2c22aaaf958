"""The two networks of BFV+DNN, behind one interface: PyTorch's branches, and scikit-learn's one network on all inputs.

An input is a pair of arrays, (m, d) or (m, height, width, channels) float32 and the mask (m, 1) float32 of who has it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.neural_network import MLPClassifier

from hetcore.multimodal import deep
from hetcore.multimodal.networks import forward, packed, unpacked

__all__ = ["NETWORKS", "BranchNetwork", "JoinedNetwork"]

BATCH = 64
Inputs = Sequence[tuple[NDArray, NDArray]]


class JoinedNetwork:
    """One scikit-learn network on all inputs side by side: concatenation before the first layer, not after a branch.

    Parameters
    ----------
    shapes : sequence of tuple of int
        Of a row of each input.
    n_outputs : int
        Classes.
    hidden : sequence of int
    fusion : str
        "concatenation".
    seed : int
    after : sequence of int, default=()
        Units of further layers.
    """

    kind = "scikit-learn"

    def __init__(
        self,
        shapes: Sequence[Sequence[int]],
        n_outputs: int,
        hidden: Sequence[int],
        fusion: str,
        seed: int,
        *,
        after: Sequence[int] = (),
    ) -> None:
        self.width, self.n_outputs = sum(int(np.prod(shape)) for shape in shapes), n_outputs
        self._model = MLPClassifier(hidden_layer_sizes=(*hidden, *after), batch_size=BATCH, random_state=seed)
        self.layers: list[tuple[NDArray, NDArray]] = []

    def epoch(self, inputs: Inputs, y: NDArray, t: int) -> None:
        """Pass over the rows once."""
        X = _side_by_side(inputs)
        # fewer rows than a batch: scikit-learn would warn
        self._model.batch_size = min(BATCH, len(X))
        # classes are said at the first pass, for its rows may lack some
        self._model.partial_fit(X, y, classes=np.arange(self.n_outputs) if t == 0 else None)
        pairs = zip(self._model.coefs_, self._model.intercepts_)
        self.layers = [(w.astype(np.float32), b.astype(np.float32)) for w, b in pairs]

    def scores(self, inputs: Inputs) -> NDArray[np.float64]:
        """Return the raw score of each class, (m, K)."""
        raw = forward(self.layers, _side_by_side(inputs))
        # of two classes scikit-learn has one score
        return np.hstack([np.zeros_like(raw), raw]) if raw.shape[1] < self.n_outputs else raw

    def to_arrays(self) -> dict[str, NDArray]:
        """Return the weights."""
        return packed([self.layers])

    def restore(self, arrays: Mapping[str, NDArray]) -> None:
        """Set the weights; raises ModelFileError at any that do not fit."""
        outputs = 1 if self.n_outputs == 2 else self.n_outputs
        self.layers = unpacked(arrays, self.width, outputs, 1)[0]


def _side_by_side(inputs: Inputs) -> NDArray[np.float32]:
    # a source that an instance lacks is zeros, as after standardising the mean
    return np.hstack([(x * mask.reshape(-1, *[1] * (x.ndim - 1))).reshape(len(x), -1) for x, mask in inputs])


class BranchNetwork:
    """PyTorch's network with a branch for each input; see `hetcore.multimodal.deep.two_branches` for the parameters.

    Parameters
    ----------
    shapes : sequence of tuple of int
    n_outputs : int
    hidden : sequence of int
    fusion : {"concatenation", "product"}
    seed : int
    after : sequence of int, default=()
        Units of the layers after the branches meet.
    device : str, default="cpu"
        Where PyTorch computes; read from a file or a pickle, a network predicts on "cpu".
    """

    kind = "torch"

    def __init__(
        self,
        shapes: Sequence[Sequence[int]],
        n_outputs: int,
        hidden: Sequence[int],
        fusion: str,
        seed: int,
        *,
        after: Sequence[int] = (),
        device: str = "cpu",
    ) -> None:
        self.seed, self._made_from, self.device = seed, (shapes, n_outputs, hidden, fusion, after), device
        with deep.seeded(seed):
            self.module = deep.two_branches(shapes, n_outputs, hidden, fusion, after=after)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle what the network is made from, and its weights: the class of `module` has no name to be found by."""
        return _remade, (self.seed, self._made_from, self.to_arrays())

    def epoch(self, inputs: Inputs, y: NDArray, t: int) -> None:
        """Pass over the rows once."""
        # a network's random numbers from a seed of its own, so that PyTorch's global ones stay as they were
        with deep.seeded(self.seed) as torch:
            codes = torch.from_numpy(np.asarray(y, np.int64))

            def loss(predicted: Any, rows: Any) -> Any:
                return torch.nn.functional.cross_entropy(predicted, codes[rows].to(self.device))

            deep.train(self.module, _flat(inputs), loss, epochs=1, seed=self.seed, start=t, device=self.device)

    def scores(self, inputs: Inputs) -> NDArray[np.float64]:
        """Return the raw score of each class, (m, K)."""
        with deep.seeded(0):
            return deep.outputs(self.module, _flat(inputs), self.device)

    def to_arrays(self) -> dict[str, NDArray]:
        """Return the weights."""
        return deep.arrays_of(self.module)

    def restore(self, arrays: Mapping[str, NDArray]) -> None:
        """Set the weights; raises ModelFileError at any that do not fit."""
        deep.restore(self.module, arrays)


def _remade(seed: int, made_from: tuple[Any, ...], arrays: Mapping[str, NDArray]) -> BranchNetwork:
    """Return a network of these weights."""
    *given, after = made_from
    network = BranchNetwork(*given, seed, after=after)
    network.restore(arrays)
    return network


def _flat(inputs: Inputs) -> list[NDArray]:
    """Return inputs and masks in one list, images with their channels first, as PyTorch has them."""
    return [a for x, mask in inputs for a in (deep.channels_first(x) if x.ndim == 4 else x, mask)]


NETWORKS = {"torch": BranchNetwork, "scikit-learn": JoinedNetwork}
