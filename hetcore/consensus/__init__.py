"""Gradient Boosting Consensus (Shi, Paiement, Grangier, Yu): several tables and graphs, one weight for each."""

METHODS = {"GBCClassifier": "gbc", "GBCRegressor": "gbc"}
