"""Transfer boosting with several sources (Antunes, Bernardino, Smailagic, Siewiorek) and its rivals."""

METHODS = {
    "MultiKTClassifier": "multi_kt",
    "MultiSourceTrAdaBoostClassifier": "tradaboost",
    "TargetSVM": "target_svm",
    "TaskTrAdaBoostClassifier": "tradaboost",
    "TrAdaBoostClassifier": "tradaboost",
    "RidgeTransferClassifier": "blend",
    "TransferClassifier": "stacking",
    "TransferRegressor": "regression",
    "TransferForestClassifier": "forest",
    "WeightedMultiSourceTrAdaBoostClassifier": "weighted",
}
