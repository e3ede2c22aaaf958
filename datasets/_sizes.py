"""How large the files of each data set are together, for whoever decides whether to download them."""

from __future__ import annotations

__all__ = ["BYTES"]

BYTES = {
    "mfeat": 5_455_638,
    "terrorist_attacks": 1_056_737,
    "movie_ratings": 4_406_084,
    "movie_revenue": 2_667_400,
    "office_caltech": 306_475,
    "census_income_a": 3_261_416,
    "census_income_b": 3_261_416,
    "covertype_shapes": 2_029_405,
    "abalone": 202_091,
    "housing": 37_701,
    "cpu_small": 588_881,
    "bodyfat": 24_830,
    "pyrim": 16_077,
    "breast_cancer": 2_142,
    "diabetes": 11_330,
    "thyroid": 4_325,
    "german": 20_549,
    "heart": 4_931,
    "movielens_100k": 2_215_517,
    "intel_lab": 216_192,
}
