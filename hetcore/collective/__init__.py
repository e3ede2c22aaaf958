"""Gradient boosting with collective inference (Alodah, Neville): GB, RGB and MGB."""

METHODS = {"GBRegressor": "mgb", "MGBClassifier": "mgb", "MGBRegressor": "mgb", "RGBRegressor": "mgb"}
