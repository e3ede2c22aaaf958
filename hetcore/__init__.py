"""Boosting for heterogeneous data: several tables, several graphs, labels for some of the instances.

The estimators are imported when they are first asked for, so that `import hetcore` stays fast: numba loads with them.
"""

from importlib import import_module
from typing import Any

from hetcore.data import Graph, HetData, Source
from hetcore.errors import DataError, ModelFileError, ParameterError
from hetcore.events import EarlyStopping, ProgressBar, RoundEnd

__version__ = "0.1.0"

_LAZY = {
    "BoostedFeatureNetworkClassifier": "hetcore.methods.boosted_features",
    "GBCClassifier": "hetcore.methods.consensus",
    "GBCRegressor": "hetcore.methods.consensus",
    "HMF": "hetcore.methods.factorization",
    "HTF": "hetcore.methods.factorization",
    "MatrixFactorization": "hetcore.methods.factorization",
    "TensorFactorization": "hetcore.methods.factorization",
    "OneWeakLearnerClassifier": "hetcore.methods.two_learner",
    "TwoWeakLearnerClassifier": "hetcore.methods.two_learner",
    "MultiKTClassifier": "hetcore.methods.multi_kt",
    "MultiSourceTrAdaBoostClassifier": "hetcore.methods.transfer",
    "TargetSVM": "hetcore.methods.target_svm",
    "TaskTrAdaBoostClassifier": "hetcore.methods.transfer",
    "TrAdaBoostClassifier": "hetcore.methods.transfer",
    "TransferClassifier": "hetcore.methods.transfer_default",
    "TransferForestClassifier": "hetcore.methods.transfer_forest",
    "WeightedMultiSourceTrAdaBoostClassifier": "hetcore.methods.transfer",
    "HGBMClassifier": "hetcore.methods.heteroscedastic_classes",
    "HGBMRegressor": "hetcore.methods.heteroscedastic",
    "HeteroscedasticLinearRegression": "hetcore.methods.heteroscedastic_linear",
    "GBRegressor": "hetcore.methods.collective",
    "MGBClassifier": "hetcore.methods.collective",
    "MGBRegressor": "hetcore.methods.collective",
    "RGBRegressor": "hetcore.methods.collective",
    "load": "hetcore.persistence",
    "save": "hetcore.persistence",
}

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
    if name not in _LAZY:
        raise AttributeError(f"module 'hetcore' has no attribute {name!r}")
    return getattr(import_module(_LAZY[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_LAZY])
