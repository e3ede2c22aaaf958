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
    "BoostedFeatureNetworkClassifier": "hetcore.multimodal.bfv",
    "GBCClassifier": "hetcore.consensus.gbc",
    "GBCRegressor": "hetcore.consensus.gbc",
    "HMF": "hetcore.factorization.hmf",
    "HTF": "hetcore.factorization.hmf",
    "MatrixFactorization": "hetcore.factorization.hmf",
    "TensorFactorization": "hetcore.factorization.hmf",
    "OneWeakLearnerClassifier": "hetcore.multimodal.two_learner",
    "TwoWeakLearnerClassifier": "hetcore.multimodal.two_learner",
    "MultiKTClassifier": "hetcore.transfer.multi_kt",
    "MultiSourceTrAdaBoostClassifier": "hetcore.transfer.tradaboost",
    "TargetSVM": "hetcore.transfer.target_svm",
    "TaskTrAdaBoostClassifier": "hetcore.transfer.tradaboost",
    "TrAdaBoostClassifier": "hetcore.transfer.tradaboost",
    "TransferClassifier": "hetcore.transfer.blend",
    "TransferForestClassifier": "hetcore.transfer.forest",
    "WeightedMultiSourceTrAdaBoostClassifier": "hetcore.transfer.tradaboost",
    "HGBMClassifier": "hetcore.heteroscedastic.hgbm_classes",
    "HGBMRegressor": "hetcore.heteroscedastic.hgbm",
    "HeteroscedasticLinearRegression": "hetcore.heteroscedastic.hlr",
    "GBRegressor": "hetcore.collective.mgb",
    "MGBClassifier": "hetcore.collective.mgb",
    "MGBRegressor": "hetcore.collective.mgb",
    "RGBRegressor": "hetcore.collective.mgb",
    "load": "hetcore.model_files",
    "save": "hetcore.model_files",
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
