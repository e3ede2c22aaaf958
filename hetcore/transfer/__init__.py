"""Transfer boosting with several sources (Antunes, Bernardino, Smailagic, Siewiorek) and its rivals."""

METHODS = {
    "MultiKTClassifier": "multi_kt",
    "MultiSourceTrAdaBoostClassifier": "tradaboost",
    "TargetSVM": "target_svm",
    "TaskTrAdaBoostClassifier": "tradaboost",
    "TrAdaBoostClassifier": "tradaboost",
    "TransferClassifier": "blend",
    "TransferForestClassifier": "forest",
    "WeightedMultiSourceTrAdaBoostClassifier": "weighted",
}
