"""Heart disease in four hospitals (Janosi, Steinbrunn, Pfisterer, Detrano 1988): whole columns missing in some.

Class: any disease (1 to 4 in the file) against none. Cholesterol and blood pressure of 0 are missing values (in
Switzerland every cholesterol is). A column that is missing for 90% or more of a hospital's patients is left out of that
hospital's table, so that the hospitals have different columns. In Switzerland 93% are ill. The Statlog heart set of
`datasets.classification_tables` stems from Cleveland; it takes part in no problem of the suite.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from datasets.suite._problem import Domains, SuiteProblem
from datasets.suite._reading import classes, local

__all__ = ["PROBLEMS"]

HOSPITALS = ("cleveland", "hungarian", "switzerland", "va")
COLUMNS = (
    "age", "male", "chest_pain", "pressure", "cholesterol", "sugar", "ecg", "heart_rate", "angina", "st_depression",
    "st_slope", "vessels", "thallium",
)  # fmt: skip
CODES = {
    "chest_pain": {1.0: "typical", 2.0: "atypical", 3.0: "other pain", 4.0: "no pain"},
    "ecg": {0.0: "normal", 1.0: "st-t", 2.0: "hypertrophy"},
    "st_slope": {1.0: "up", 2.0: "flat", 3.0: "down"},
    "thallium": {3.0: "normal", 6.0: "fixed", 7.0: "reversible"},
}
MOST_MISSING = 0.9


def _patients(hospital: str) -> pl.DataFrame:
    """Return a hospital's patients: the 13 columns, null where missing, and `disease`, 0 to 4."""
    path = local("RenHongJia/ProbabilisticGraphModels", f"processed.{hospital}.data")
    table = pl.read_csv(path, has_header=False, new_columns=[*COLUMNS, "disease"], infer_schema=False)
    table = table.with_columns(pl.all().str.strip_chars().cast(pl.Float64, strict=False).fill_nan(None))
    zero = [pl.col(name).replace(0.0, None) for name in ("pressure", "cholesterol")]
    codes = [pl.col(name).replace_strict(names, default=None) for name, names in CODES.items()]
    return table.with_columns(*zero, *codes)


def load() -> Domains:
    """Return four hospitals of 123 to 303 patients, 10 to 13 columns, two classes; the target is the Hungarian one."""
    held = {hospital: _patients(hospital) for hospital in HOSPITALS}
    tables = {name: _known(table.drop("disease")) for name, table in held.items()}
    labels = {
        name: np.array(classes((table["disease"] > 0).to_numpy().astype(int), ("healthy", "ill")), dtype=object)
        for name, table in held.items()
    }
    return Domains("hungarian", tables, labels, "classification")


def _known(table: pl.DataFrame) -> pl.DataFrame:
    return table.select(name for name in table.columns if table[name].null_count() < MOST_MISSING * len(table))


PROBLEMS = (
    SuiteProblem(
        "heart_4hospitals",
        "heart_4hospitals",
        ("transfer",),
        task="classification",
        half="reporting",
        load=load,
        story="920 patients of four hospitals: heart disease or none; some hospitals lack whole columns.",
    ),
)
