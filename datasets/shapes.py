"""What each data set is made of, known without loading it: its tables, graphs and classes, for a picture of it."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["SHAPES", "Shape", "Table"]


class Table(NamedTuple):
    """A table of a data set.

    Attributes
    ----------
    columns : int
        Or numbers of an image.
    share : float
        Of the instances that it has, in (0, 1], to two decimals.
    kind : str
        "values", "text" or "image".
    """

    columns: int
    share: float = 1.0
    kind: str = "values"


class Shape(NamedTuple):
    """What a data set is made of.

    Attributes
    ----------
    tables : tuple of Table
    graphs : int
        How many.
    classes : int
        How many; 0 where a number is predicted.
    """

    tables: tuple[Table, ...]
    graphs: int = 0
    classes: int = 0


def _whole(*columns: int) -> tuple[Table, ...]:
    """Return tables that have every instance."""
    return tuple(map(Table, columns))


SHAPES = {
    "digits_views": Shape(_whole(34, 75, 32, 64, 25), graphs=2, classes=10),
    "mfeat": Shape(_whole(76, 216, 64, 240, 47), graphs=2, classes=10),
    "terrorist_attacks": Shape(_whole(106, 106), graphs=2, classes=6),
    "movie_ratings": Shape((Table(1, kind="text"), Table(1, 0.78, "text"), *_whole(22, 1, 1, 2)), graphs=6),
    "movie_revenue": Shape((*_whole(58, 5), Table(1, 0.51)), graphs=1),
    "office_caltech": Shape((Table(800, 0.38), Table(800, 0.44), Table(800, 0.06), Table(800, 0.12)), classes=10),
    "digits_table_and_pixels": Shape((Table(32), Table(64, kind="image")), classes=10),
    "census_income_a": Shape(_whole(20, 20), classes=2),
    "census_income_b": Shape(_whole(20, 20), classes=2),
    "covertype_shapes": Shape((Table(54), Table(576, kind="image")), classes=3),
    "two_modalities": Shape((Table(8), Table(100, kind="image")), classes=4),
    "abalone": Shape(_whole(8)),
    "housing": Shape(_whole(13)),
    "cpu_small": Shape(_whole(12)),
    "bodyfat": Shape(_whole(14)),
    "pyrim": Shape(_whole(27)),
    "breast_cancer": Shape(_whole(9), classes=2),
    "diabetes": Shape(_whole(8), classes=2),
    "thyroid": Shape(_whole(5), classes=2),
    "german": Shape(_whole(20), classes=2),
    "heart": Shape(_whole(13), classes=2),
    "movielens_100k": Shape(_whole(2)),
    "intel_lab": Shape(_whole(3)),
    "planted": Shape((Table(12, 0.8),) * 4, graphs=2),
    "planted_domains": Shape((Table(10, 0.2),) * 5, classes=2),
    "autocorrelated": Shape(_whole(10), graphs=1),
    "planted_noise": Shape(_whole(6)),
    "planted_flips": Shape(_whole(6), classes=2),
    "planted_ratings": Shape(_whole(2)),
    "planted_sensors": Shape(_whole(3)),
    "customers": Shape(_whole(196), graphs=90, classes=2),
}
"""By name of the data set."""
