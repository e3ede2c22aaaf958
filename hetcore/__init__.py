"""Boosting for heterogeneous data: several tables, several graphs, labels for some of the instances.

Everything is imported when it is first asked for, so that `import hetcore` stays fast: polars and SciPy load with the
data, numba with the estimators.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hetcore.errors import DataError, ModelFileError, ParameterError
from hetcore.registry import METHODS

if TYPE_CHECKING:
    from hetcore.data import Graph, HetData, Source
    from hetcore.events import EarlyStopping, ProgressBar, RoundEnd

__version__ = "0.1.0"

_NOTEBOOK = {"LiveView": "hetcore.widget.view", "watch": "hetcore.widget.watch"}  # not in __all__: they need anywidget
_LAZY = (
    dict.fromkeys(("Graph", "HetData", "Source"), "hetcore.data")
    | dict.fromkeys(("EarlyStopping", "ProgressBar", "RoundEnd"), "hetcore.events")
    | {"load": "hetcore.model_files", "save": "hetcore.model_files", "views": "hetcore.consensus.views"}
    | {"export": "hetcore.bundles.bundle"}
    | dict.fromkeys(("read_data", "write_data"), "hetcore.bundles.data_files")
)
_MODULES = ("data", "distributed")  # `hetcore.distributed` needs no Dask until a client comes

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
    *METHODS,
    "export",
    "load",
    "read_data",
    "save",
    "views",
    "write_data",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"hetcore.{name}")
    module = METHODS.get(name) or _LAZY.get(name) or _NOTEBOOK.get(name)
    if module is None:
        raise AttributeError(f"module 'hetcore' has no attribute {name!r}")
    return getattr(import_module(module), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *METHODS, *_LAZY, *_NOTEBOOK})
