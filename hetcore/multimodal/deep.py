"""Networks that need PyTorch, the optional extra: `pip install -r requirements-deep.txt`.

`ConvolutionalLearner` is the weak learner for images, "cnn"; `two_branches` is the network of BFV+DNN. PyTorch is
imported when a network is made, so the rest of hetcore works without it. Every network trains with Adam, from a seed,
on one thread or on a device that PyTorch sees, and leaves PyTorch's own random numbers as they were; its weights are
drawn and kept in main memory, read and written as arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetcore.errors import ModelFileError, ParameterError

__all__ = [
    "ConvolutionalLearner", "arrays_of", "channels_first", "check_device", "convolutions", "has_torch", "outputs",
    "restore", "seeded", "torch_module", "train", "two_branches",
]  # fmt: skip

HOW = "pip install -r requirements-deep.txt"
BATCH = 128
LEARNING_RATE = 2e-3
CHANNELS = (8, 16)
CHUNK = 4096  # images in a forward pass


def has_torch() -> bool:
    """Return whether PyTorch is installed."""
    # without importing it: a second and a half that most runs do not need
    return find_spec("torch") is not None


def torch_module() -> Any:
    """Return PyTorch.

    Raises
    ------
    ParameterError
        If it is not installed, with the command that installs it.
    """
    if not has_torch():
        raise ParameterError(f"This network needs PyTorch, which is not installed: run `{HOW}`, or use 'network'.")
    import torch

    return torch


def check_device(device: str) -> None:
    """Raise ParameterError unless PyTorch can compute on `device`."""
    torch = torch_module()
    try:
        torch.empty(1, device=device).cpu()
    # it raises one or the other, by what it was built without
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        cure = "use device='cpu', or one that it sees, such as 'cuda' or 'mps'"
        raise ParameterError(f"PyTorch can't compute on device={device!r} here: {cure}.") from error


@contextmanager
def _placed(module: Any, device: str) -> Any:
    """Hold a module's weights on a device, and in main memory again after that, where they are kept and saved."""
    module.to(device)
    try:
        yield
    finally:
        module.cpu()


@contextmanager
def seeded(seed: int) -> Any:
    """Run PyTorch on one thread with random numbers of its own, and on a graphics card with the same sums each time."""
    torch = torch_module()
    threads, cudnn = torch.get_num_threads(), torch.backends.cudnn
    # the state is given back, for the person's own network may draw from it
    with torch.random.fork_rng(devices=[]), cudnn.flags(benchmark=False, deterministic=True, allow_tf32=False):
        torch.manual_seed(seed)
        # one thread: sums of several are in another order from run to run
        torch.set_num_threads(1)
        try:
            yield torch
        finally:
            torch.set_num_threads(threads)


def convolutions(shape: Sequence[int], n_outputs: int) -> Any:
    """Return two layers of 3 x 3 convolutions with pooling and a dense layer, (m, channels, height, width) in.

    Parameters
    ----------
    shape : (height, width, channels)
    n_outputs : int
    """
    nn = torch_module().nn
    height, width, channels = shape
    layers: list[Any] = []
    for count in CHANNELS:
        # rounded up, so that an image of odd size loses no row of pixels
        layers += [nn.Conv2d(channels, count, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2, ceil_mode=True)]
        channels, height, width = count, -(-height // 2), -(-width // 2)
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(channels * height * width, n_outputs))


def two_branches(
    shapes: Sequence[Sequence[int]], n_outputs: int, hidden: Sequence[int], fusion: str, after: Sequence[int] = ()
) -> Any:
    """Return a network with a branch for each input, called with an input and a mask (m, 1) a branch, in turn.

    Parameters
    ----------
    shapes : sequence of (d,) or (height, width, channels)
        A branch of dense layers, or of convolutions.
    n_outputs : int
        Classes.
    hidden : sequence of int
        Units of a branch's dense layers; the last is what every branch ends with.
    fusion : {"concatenation", "product"}
        How the branches meet. A branch without its input adds zeros, or ones.
    after : sequence of int, default=()
        Units of the layers between where they meet and the last, linear one: DNN3 of the paper's Figure 1.
    """
    torch = torch_module()
    nn, width = torch.nn, hidden[-1]
    met = width * (len(shapes) if fusion == "concatenation" else 1)

    class Branches(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.branches = nn.ModuleList([_branch(nn, shape, hidden) for shape in shapes])
            last = nn.Linear([met, *after][-1], n_outputs)
            self.last = nn.Sequential(*_dense(nn, [met, *after]), last) if after else last

        def forward(self, *inputs: Any) -> Any:
            predicted = [branch(x) * mask for branch, x, mask in zip(self.branches, inputs[::2], inputs[1::2])]
            if fusion == "concatenation":
                return self.last(torch.cat(predicted, dim=1))
            meet = torch.ones_like(predicted[0])
            # a branch that is absent counts as one
            for each, mask in zip(predicted, inputs[1::2]):
                meet = meet * (each + 1.0 - mask)
            return self.last(meet)

    return Branches()


def _branch(nn: Any, shape: Sequence[int], hidden: Sequence[int]) -> Any:
    if len(shape) == 3:
        return nn.Sequential(convolutions(shape, hidden[-1]), nn.ReLU())
    return nn.Sequential(*_dense(nn, [*shape, *hidden]))


def _dense(nn: Any, widths: Sequence[int]) -> list[Any]:
    """Return rectified layers of some widths, the first of which goes in."""
    return [layer for a, b in zip(widths, widths[1:]) for layer in (nn.Linear(a, b), nn.ReLU())]


def train(
    module: Any,
    inputs: Sequence[NDArray],
    loss: Callable[[Any, Any], Any],
    epochs: int,
    seed: int,
    *,
    start: int = 0,
    device: str = "cpu",
) -> None:
    """Train a module in place.

    Parameters
    ----------
    module : torch Module
        Called with a batch of every input.
    inputs : sequence of (m, ...) arrays
        float32 or int64, one row an instance.
    loss : callable
        Takes the module's output and the rows of the batch, (b,) int64 tensor; returns a number to minimise.
    epochs : int
        Passes over the rows.
    seed : int
        Of the order of the rows.
    start : int, default=0
        Passes done before, so that pass t has the same order whether passes come one by one or all at once.
    device : str, default="cpu"
        Where PyTorch computes; batch after batch goes there, and the module is in main memory again at the end.
    """
    torch = torch_module()
    tensors = [torch.from_numpy(np.ascontiguousarray(each)) for each in inputs]
    with _placed(module, device):
        adam = getattr(module, "adam", None) or torch.optim.Adam(module.parameters(), lr=LEARNING_RATE)
        module.adam = adam  # a plain attribute: the next pass goes on with its moments, no weight file holds it
        module.train()
        for epoch in range(start, start + epochs):
            # a seed for each pass: a training that goes on draws what one in a single go would
            order = torch.from_numpy(np.random.default_rng([seed, epoch]).permutation(len(tensors[0])))
            for rows in order.split(BATCH):
                adam.zero_grad()
                loss(module(*(tensor[rows].to(device) for tensor in tensors)), rows).backward()
                adam.step()


def outputs(module: Any, inputs: Sequence[NDArray], device: str = "cpu") -> NDArray[np.float64]:
    """Return what a module says of some rows, (m, K)."""
    torch = torch_module()
    module.eval()
    predicted = []
    with _placed(module, device), torch.inference_mode():
        # in chunks: all images at once would hold every layer of all of them
        for first in range(0, len(inputs[0]), CHUNK):
            batch = [torch.from_numpy(np.ascontiguousarray(each[first : first + CHUNK])) for each in inputs]
            predicted.append(module(*(each.to(device) for each in batch)).cpu().numpy())
    return np.concatenate(predicted).astype(np.float64)


def arrays_of(module: Any) -> dict[str, NDArray]:
    """Return a module's weights as arrays by name."""
    return {name: tensor.detach().numpy().copy() for name, tensor in module.state_dict().items()}


def restore(module: Any, arrays: Mapping[str, NDArray]) -> Any:
    """Set a module's weights and return it.

    Raises
    ------
    ModelFileError
        Unless the arrays have the module's names, shapes and types and are finite.
    """
    torch, own = torch_module(), arrays_of(module)
    if set(own) != set(arrays):
        raise ModelFileError("The layers of a network in the model file are not those it should have: save it again.")
    for name, array in arrays.items():
        if array.shape != own[name].shape or array.dtype != own[name].dtype or not np.isfinite(array).all():
            raise ModelFileError(f"The weights {name} of a network in the model file are wrong: save the model again.")
    # a copy: PyTorch would write into the file's memory
    module.load_state_dict({name: torch.from_numpy(np.array(array)) for name, array in arrays.items()})
    return module


class ConvolutionalLearner:
    """A small convolutional network that fits vectors by least squares: the weak learner "cnn".

    Parameters
    ----------
    epochs : int, default=10
        Passes over the rows.
    random_state : int, default=0
        Seed of the first weights and of the batches.
    device : str, default="cpu"
        Where PyTorch computes. Read from a file, a learner predicts on "cpu".

    Raises
    ------
    ParameterError
        If PyTorch is not installed, or can't compute on the device.
    """

    kind = "cnn"
    takes_images = True

    def __init__(self, epochs: int = 10, random_state: int = 0, device: str = "cpu") -> None:
        check_device(device)
        self.epochs, self.random_state, self.device = epochs, random_state, device
        self.module: Any = None

    def fit(self, X: NDArray, W: NDArray, sample_weight: NDArray | None = None) -> ConvolutionalLearner:
        """Fit W (m, K) from images X (m, height, width, channels), rows weighted by `sample_weight` (m,)."""
        with seeded(self.random_state) as torch:
            self.module = convolutions(X.shape[1:], W.shape[1])
            target = torch.from_numpy(np.asarray(W, np.float32))
            weight = None if sample_weight is None else torch.from_numpy(np.asarray(sample_weight, np.float32)[:, None])

            def loss(predicted: Any, rows: Any) -> Any:
                squares = (predicted - target[rows].to(self.device)) ** 2
                return squares.mean() if weight is None else (squares * weight[rows].to(self.device)).mean()

            train(self.module, [channels_first(X)], loss, self.epochs, self.random_state, device=self.device)
            # its moments are of no use once the learner is kept, and twice as large as its weights
            self.module.adam = None
        return self

    def predict(self, X: NDArray) -> NDArray[np.float64]:
        """Return the outputs (m, K) for images X (m, height, width, channels)."""
        with seeded(0):
            return outputs(self.module, [channels_first(X)], self.device)

    @staticmethod
    def pack(learners: Sequence[ConvolutionalLearner]) -> tuple[dict[str, Any], dict[str, NDArray]]:
        """Return fitted learners of one shape as a JSON-able dict and arrays."""
        each = [arrays_of(learner.module) for learner in learners]
        return {}, {name: np.stack([arrays[name] for arrays in each]) for name in (each[0] if each else ())}

    @classmethod
    def unpack(
        cls, facts: dict[str, Any], arrays: Mapping[str, NDArray], size: tuple[int, ...], n_outputs: int, count: int
    ) -> list[ConvolutionalLearner]:
        """Rebuild `count` learners of images of shape `size`; raises ModelFileError at anything else."""
        # as many networks as steps: a file that says otherwise is forged
        if any(len(array) != count for array in arrays.values()):
            raise ModelFileError("The networks of the model file are not as many as its steps: save the model again.")
        learners = [cls() for _ in range(count)]
        for t, learner in enumerate(learners):
            one = {name: array[t] for name, array in arrays.items()}
            learner.module = restore(convolutions(size, n_outputs), one)
        return learners


def channels_first(X: NDArray) -> NDArray[np.float32]:
    """Return images (m, height, width, channels) as PyTorch takes them, (m, channels, height, width)."""
    return np.ascontiguousarray(X.transpose(0, 3, 1, 2), np.float32)
