"""Networks that need PyTorch, the optional extra: `pip install -r requirements-deep.txt`.

`ConvolutionalLearner` is the weak learner for images, "cnn"; `TwoBranchNetwork` is the network of BFV+DNN.
PyTorch is imported when a network is made, so the rest of hetcore works without it.
"""

from __future__ import annotations

from typing import Any

from hetcore.errors import ParameterError

__all__ = ["has_torch", "torch_module"]

HOW = "pip install -r requirements-deep.txt"


def has_torch() -> bool:
    """Return whether PyTorch is installed."""
    from importlib.util import find_spec

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
