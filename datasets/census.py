"""Census-Income (KDD): 99,762 people of the US census survey, split into two tables as if they came from two places.

The boosting-and-networks paper takes one part of the columns as the structured table, for trees, and the other as the
unstructured one, for a network. CI-A deals the columns at random; CI-B deals them by importance, as measured here by
CatBoost (200 trees, depth 6) on 30,000 people: the 20 most important ones are structured. Which columns the paper has
in which part is not known here.
"""

from __future__ import annotations

import gzip

import numpy as np
import polars as pl

from datasets._dataset import Dataset, Frames, assemble
from datasets._fetch import RemoteFile, fetch
from hetcore.data import HetData

__all__ = ["CENSUS_INCOME_A", "CENSUS_INCOME_B", "frames", "load"]

PEOPLE = RemoteFile(
    "rzskhr/census-income-classification",
    "32818dc3314f7496223da9031b9f819061d0c018",
    "data/census-income.test.gz",
    "5ac4cacd3ca9f1ecb10de1a0a41e4ac68fdc419e3fec190f5c0c6cc03b2ea659",
)
COLUMNS = (
    "age", "class of worker", "detailed industry recode", "detailed occupation recode", "education", "wage per hour",
    "enroll in edu inst last wk", "marital stat", "major industry code", "major occupation code", "race",
    "hispanic origin", "sex", "member of a labor union", "reason for unemployment",
    "full or part time employment stat", "capital gains", "capital losses", "dividends from stocks", "tax filer stat",
    "region of previous residence", "state of previous residence", "detailed household and family stat",
    "detailed household summary in household", "instance weight", "migration code-change in msa",
    "migration code-change in reg", "migration code-move within reg", "live in this house 1 year ago",
    "migration prev res in sunbelt", "num persons worked for employer", "family members under 18",
    "country of birth father", "country of birth mother", "country of birth self", "citizenship",
    "own business or self employed", "fill inc questionnaire for veteran's admin", "veterans benefits",
    "weeks worked in year", "year",
)  # fmt: skip
NUMBERS = (
    "age", "wage per hour", "capital gains", "capital losses", "dividends from stocks",
    "num persons worked for employer", "weeks worked in year",
)  # fmt: skip
MOST_IMPORTANT = (
    "age", "class of worker", "weeks worked in year", "education", "sex", "dividends from stocks",
    "detailed occupation recode", "detailed industry recode", "major occupation code",
    "detailed household summary in household", "num persons worked for employer", "major industry code",
    "capital gains", "tax filer stat", "wage per hour", "capital losses", "detailed household and family stat",
    "country of birth mother", "full or part time employment stat", "race",
)  # fmt: skip
LABELS = {"- 50000.": "up to 50,000", "50000+.": "over 50,000"}
SEED = 7


def _people() -> pl.DataFrame:
    with gzip.open(fetch(PEOPLE)) as file:
        table = pl.read_csv(file.read(), has_header=False, new_columns=[*COLUMNS, "y"], infer_schema=False)
    table = table.drop("instance weight").with_columns(pl.all().str.strip_chars())
    numbers = [pl.col(name).cast(pl.Float64) for name in NUMBERS]
    table = table.with_columns(pl.exclude("y").replace("?", None)).with_columns(*numbers)
    ids = [f"person-{row:05d}" for row in range(1, len(table) + 1)]
    return table.with_columns(pl.col("y").replace_strict(LABELS)).insert_column(0, pl.Series("id", ids))


def structured_columns(split: str) -> list[str]:
    """Return the columns of the structured table: 20 at random ("a"), or the 20 most important ("b")."""
    if split == "b":
        return list(MOST_IMPORTANT)
    columns = [name for name in COLUMNS if name != "instance weight"]
    return [columns[i] for i in np.sort(np.random.default_rng(SEED).permutation(len(columns))[: len(columns) // 2])]


def frames(split: str = "a", n: int | None = None, seed: int = 0) -> Frames:
    """Return the two tables and the incomes as polars frames.

    Parameters
    ----------
    split : {"a", "b"}, default="a"
        CI-A or CI-B.
    n : int, optional
        People to draw at random, without replacement; all 99,762 by default.
    seed : int, default=0
        Seed of that draw.
    """
    people = _people()
    if n is not None:
        people = people[np.sort(np.random.default_rng(seed).permutation(len(people))[:n])]
    structured = structured_columns(split)
    others = [name for name in people.columns[1:-1] if name not in structured]
    parts = {"structured": structured, "unstructured": others}
    return Frames(
        sources={part: people.select("id", *columns) for part, columns in parts.items()},
        graphs={},
        target=people.select("id", "y"),
        kinds={p: {name: "real" if name in NUMBERS else "nominal" for name in parts[p]} for p in parts},
    )


def load(split: str = "a", n: int | None = None, seed: int = 0) -> HetData:
    """Return the people as HetData: two tables of 20 columns, 2 classes; see `frames` for the parameters."""
    return assemble(frames(split, n, seed))


def _entry(split: str, how: str) -> Dataset:
    return Dataset(
        name=f"census_income_{split}",
        title=f"Census-Income, CI-{split.upper()}",
        story=f"99,762 people: is the income over $50,000? Two tables of 20 columns each, dealt {how}.",
        task="classification",
        load=lambda: load(split),
        licence="UCI Machine Learning Repository (CC BY 4.0); the repository of this copy states no terms.",
        citation="Census-Income (KDD) (2000). UCI Machine Learning Repository. https://doi.org/10.24432/C5N30T",
        files=(PEOPLE,),
    )


CENSUS_INCOME_A = _entry("a", "at random")
CENSUS_INCOME_B = _entry("b", "by importance")
