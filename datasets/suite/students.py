"""Pupils of two Portuguese schools in two subjects (Cortez and Silva 2008): the final grade, 0 to 20.

The grades of the first two terms (G1, G2) nearly give the final one (G3) and are left out.

`student_portuguese`: the 649 pupils of the Portuguese course. Tables: `background` (family and home), `habits` (free
time, alcohol, health), `course` (absences, failures, study time), and `maths`, the record of the same pupil in the
maths course with its final grade. Pupils have no id; a pupil of both files is one whose 26 attributes outside the
courses are equal in both and occur once in each. `student_two_schools`: a domain is a school and a subject; the
target is the smaller school's Portuguese course. One pupil may stand in two domains, with the grades of two subjects.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from datasets.suite._problem import CONSENSUS, Domains, SuiteProblem
from datasets.suite._reading import local
from hetcore.data import HetData

__all__ = ["PROBLEMS"]

BACKGROUND = (
    "school sex age address famsize Pstatus Medu Fedu Mjob Fjob reason guardian nursery higher internet"
).split()  # fmt: skip
HABITS = "traveltime schoolsup famsup activities romantic famrel freetime goout Dalc Walc health".split()
COURSE = ["studytime", "failures", "paid", "absences"]
NUMBERS = "age Medu Fedu traveltime famrel freetime goout Dalc Walc health studytime failures absences G3".split()
FILES = {"maths": ("mat", ";"), "portuguese": ("por", ",")}


def _course(name: str) -> pl.DataFrame:
    file, separator = FILES[name]
    path = local("AVKuzminov/data", f"student-{file}.csv")
    table = pl.read_csv(path, separator=separator, infer_schema=False).drop("G1", "G2")
    return table.with_columns(pl.col(NUMBERS).cast(pl.Float64))


def load_portuguese() -> HetData:
    """Return the pupils as HetData: 649 instances, 4 tables, no graph, a grade from 0 to 20."""
    pupils = _course("portuguese")
    pupils = pupils.insert_column(0, pl.Series("id", [f"pupil-{row:03d}" for row in range(1, len(pupils) + 1)]))
    tables = {
        "background": pupils.select("id", *BACKGROUND),
        "habits": pupils.select("id", *HABITS),
        "course": pupils.select("id", *COURSE),
        "maths": _same_pupils(pupils, _course("maths")),
    }
    return HetData(tables, {}, pupils.select("id", y="G3"), id_column="id", task="regression")


def _same_pupils(pupils: pl.DataFrame, maths: pl.DataFrame) -> pl.DataFrame:
    """Return the maths record of the pupils who are found in both files without doubt."""
    keys = [*BACKGROUND, *HABITS]
    once = pl.len().over(keys) == 1
    record = maths.filter(once).select(*keys, *[pl.col(name).alias(f"maths_{name}") for name in (*COURSE, "G3")])
    found = pupils.filter(once).select("id", *keys).join(record, on=keys, maintain_order="left")
    return found.drop(keys)


def load_schools() -> Domains:
    """Return two schools in two subjects, 46 to 423 pupils each, 29 columns, a grade from 0 to 20."""
    tables, labels = {}, {}
    for subject in FILES:
        course = _course(subject)
        for school in ("GP", "MS"):
            pupils = course.filter(pl.col("school") == school)
            tables[f"{school.lower()}_{subject}"] = pupils.drop("school", "G3")
            labels[f"{school.lower()}_{subject}"] = pupils["G3"].to_numpy().astype(np.float64)
    return Domains("ms_portuguese", tables, labels, "regression")


PROBLEMS = (
    SuiteProblem(
        "student_portuguese",
        "student_two_schools",
        CONSENSUS,
        task="regression",
        half="reporting",
        load=load_portuguese,
        story="649 pupils: tell the final grade in Portuguese from home, habits, the course and maths for some.",
    ),
    SuiteProblem(
        "student_two_schools",
        "student_two_schools",
        ("transfer",),
        task="regression",
        half="reporting",
        load=load_schools,
        story="1,044 final grades: tell those of one school and subject with the help of the other school and subject.",
    ),
)
