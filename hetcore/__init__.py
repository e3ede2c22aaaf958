"""Boosting for heterogeneous data: several tables, several graphs, labels for some of the instances.

The estimators are imported when they are first asked for, so that `import hetcore` stays fast: numba loads with them.
"""

from importlib import import_module
from typing import Any

from hetcore.data import Graph, HetData, Source
from hetcore.errors import DataError, ModelFileError, ParameterError
from hetcore.events import EarlyStopping, ProgressBar, RoundEnd
from hetcore.registry import METHODS

__version__ = "0.1.0"

_NOTEBOOK = {"LiveView": "hetcore.widget.view", "watch": "hetcore.widget.watch"}  # not in __all__: they need anywidget
_LAZY = METHODS | {"load": "hetcore.model_files", "save": "hetcore.model_files", "views": "hetcore.consensus.views"}

__all__ = [
    "DataError",
    "EarlyStopping",
    "Graph",
    "HetData",
    "ModelFileError",
    "ParameterError",
    "ProgressBar",
    "RoundEnd",
    "Source",
    *_LAZY,
]


def __getattr__(name: str) -> Any:
    if name == "distributed":  # a module, which needs no Dask until a client comes
        return import_module("hetcore.distributed")
    module = METHODS.get(name) or _LAZY.get(name) or _NOTEBOOK.get(name)
    if module is None:
        raise AttributeError(f"module 'hetcore' has no attribute {name!r}")
    return getattr(import_module(module), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *METHODS, *_LAZY, *_NOTEBOOK})
