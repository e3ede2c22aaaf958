"""Two weak learners and boosted feature vectors (Treviño Gavito, Klabjan, Utke): 2WL, 2WL2O, BFV+DNN."""

METHODS = {
    "BoostedFeatureNetworkClassifier": "bfv",
    "OneWeakLearnerClassifier": "two_learner",
    "TwoWeakLearnerClassifier": "two_learner",
}
