"""Heteroscedastic learning of tables (Lee, Yang, Lin, Lin): HLR and HGBM."""

METHODS = {
    "HGBMClassifier": "hgbm_classes",
    "HGBMRegressor": "hgbm",
    "HLR": "hlr",
    "HeteroscedasticLinearRegression": "linear_deviation",
}
