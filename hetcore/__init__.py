"""Boosting for heterogeneous data: several tables, several graphs, labels for some of the instances.

Everything is imported when it is first asked for, so that `import hetcore` stays fast: polars and SciPy load with the
data, numba with the estimators.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hetcore.errors import (
    ClusterError,
    DataError,
    MissingColumnsWarning,
    ModelFileError,
    ParameterError,
    PrecisionWarning,
    UnfamiliarValuesWarning,
    UnscoredLabelsWarning,
)
from hetcore.registry import METHODS

if TYPE_CHECKING:  # a type checker reads these in place of `__getattr__`; a test sees that none is missing
    from hetcore import baselines, data, distributed, metrics, tuning
    from hetcore.bundles.bundle import export
    from hetcore.bundles.data_files import read_data, write_data
    from hetcore.collective.mgb import GBRegressor, MGBClassifier, MGBRegressor, RGBRegressor
    from hetcore.consensus.gbc import GBCClassifier, GBCRegressor
    from hetcore.consensus.views import views
    from hetcore.data import Graph, HetData, Source
    from hetcore.events import EarlyStopping, ProgressBar, RoundEnd
    from hetcore.factorization.hmf import HMF, HTF, MatrixFactorization, TensorFactorization
    from hetcore.heteroscedastic.hgbm import HGBMRegressor
    from hetcore.heteroscedastic.hgbm_classes import HGBMClassifier
    from hetcore.heteroscedastic.hlr import HLR
    from hetcore.heteroscedastic.linear_deviation import HeteroscedasticLinearRegression
    from hetcore.model_files import load, save
    from hetcore.multimodal.bfv import BoostedFeatureNetworkClassifier
    from hetcore.multimodal.two_learner import OneWeakLearnerClassifier, TwoWeakLearnerClassifier
    from hetcore.transfer.blend import RidgeTransferClassifier
    from hetcore.transfer.forest import TransferForestClassifier
    from hetcore.transfer.multi_kt import MultiKTClassifier
    from hetcore.transfer.regression import TransferRegressor
    from hetcore.transfer.stacking import TransferClassifier
    from hetcore.transfer.target_svm import TargetSVM
    from hetcore.transfer.tradaboost import (
        MultiSourceTrAdaBoostClassifier,
        TaskTrAdaBoostClassifier,
        TrAdaBoostClassifier,
    )
    from hetcore.transfer.weighted import WeightedMultiSourceTrAdaBoostClassifier
    from hetcore.widget.view import LiveView
    from hetcore.widget.watch import watch

__version__ = "0.1.0"

_NOTEBOOK = {"LiveView": "hetcore.widget.view", "watch": "hetcore.widget.watch"}  # not in __all__: they need anywidget
_LAZY = (
    dict.fromkeys(("Graph", "HetData", "Source"), "hetcore.data")
    | dict.fromkeys(("EarlyStopping", "ProgressBar", "RoundEnd"), "hetcore.events")
    | {"load": "hetcore.model_files", "save": "hetcore.model_files", "views": "hetcore.consensus.views"}
    | {"export": "hetcore.bundles.bundle"}
    | dict.fromkeys(("read_data", "write_data"), "hetcore.bundles.data_files")
)
# `hetcore.distributed` needs no Dask until a client comes
_MODULES = ("baselines", "data", "distributed", "metrics", "tuning")

__all__ = [
    "ClusterError",
    "DataError",
    "EarlyStopping",
    "Graph",
    "HetData",
    "MissingColumnsWarning",
    "ModelFileError",
    "ParameterError",
    "PrecisionWarning",
    "ProgressBar",
    "RoundEnd",
    "Source",
    "UnfamiliarValuesWarning",
    "UnscoredLabelsWarning",
    *METHODS,
    "export",
    "load",
    "read_data",
    "save",
    "views",
    "write_data",
]


if not TYPE_CHECKING:  # to a type checker a name that is not there would be one of any type

    def __getattr__(name: str) -> Any:
        if name in _MODULES:
            return import_module(f"hetcore.{name}")
        module = METHODS.get(name) or _LAZY.get(name) or _NOTEBOOK.get(name)
        if module is None:
            raise AttributeError(f"module 'hetcore' has no attribute {name!r}")
        if name in METHODS and module.startswith("hetcore.consensus."):
            # a first training waits for the compiler: what can be compiled meanwhile begins before numba is imported
            import_module("hetcore.kernels.threads").prepare_early()
        return getattr(import_module(module), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *METHODS, *_LAZY, *_MODULES, *_NOTEBOOK})
