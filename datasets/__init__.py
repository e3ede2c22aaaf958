"""The data sets of hetcore: real data by address and checksum, and generators with known truth.

>>> import datasets
>>> datasets.names()
['digits_views', 'mfeat', 'terrorist_attacks', 'movie_ratings', 'movie_revenue', 'office_caltech', ...]
>>> data = datasets.load("digits_views")

Files are downloaded on first use into the folder HETCORE_DATA, or the user's cache folder, and checked by SHA-256.
"""

from __future__ import annotations

from datasets._dataset import Dataset
from datasets.census import CENSUS_INCOME_A, CENSUS_INCOME_B
from datasets.classification_tables import CLASSIFICATIONS
from datasets.covertype_shapes import COVERTYPE_SHAPES
from datasets.digits import DIGITS_VIEWS
from datasets.digits_pixels import DIGITS_TABLE_AND_PIXELS
from datasets.intel_lab import INTEL_LAB
from datasets.mfeat import MFEAT
from datasets.movie_revenue import MOVIE_REVENUE
from datasets.movielens import MOVIELENS_100K
from datasets.movies import MOVIE_RATINGS
from datasets.office_caltech import OFFICE_CALTECH
from datasets.planted.autocorrelated import AUTOCORRELATED, Autocorrelation, make_autocorrelated_graph
from datasets.planted.customers import CUSTOMERS, CustomerTruth, make_customers
from datasets.planted.domains import PLANTED_DOMAINS, DomainTruth, make_domains
from datasets.planted.generator import PLANTED, Truth, make_heterogeneous
from datasets.planted.planted_noise import (
    PLANTED_FLIPS,
    PLANTED_NOISE,
    PLANTED_RATINGS,
    PLANTED_SENSORS,
    make_flipped,
    make_noisy,
    make_ratings,
    make_sensors,
    planted_deviation,
)
from datasets.planted.two_modalities import TWO_MODALITIES, Halves, make_two_modalities
from datasets.regression_tables import REGRESSIONS
from datasets.terrorist import TERRORIST_ATTACKS
from hetcore.data import HetData
from hetcore.data.text import shown
from hetcore.errors import ParameterError

__all__ = [
    "Autocorrelation",
    "CustomerTruth",
    "DATASETS",
    "Dataset",
    "DomainTruth",
    "Halves",
    "Truth",
    "info",
    "load",
    "make_autocorrelated_graph",
    "make_customers",
    "make_domains",
    "make_flipped",
    "make_heterogeneous",
    "make_noisy",
    "make_ratings",
    "make_sensors",
    "make_two_modalities",
    "names",
    "planted_deviation",
]

ENTRIES = (
    DIGITS_VIEWS,
    MFEAT,
    TERRORIST_ATTACKS,
    MOVIE_RATINGS,
    MOVIE_REVENUE,
    OFFICE_CALTECH,
    DIGITS_TABLE_AND_PIXELS,
    CENSUS_INCOME_A,
    CENSUS_INCOME_B,
    COVERTYPE_SHAPES,
    TWO_MODALITIES,
    *REGRESSIONS,
    *CLASSIFICATIONS,
    MOVIELENS_100K,
    INTEL_LAB,
    PLANTED,
    PLANTED_DOMAINS,
    AUTOCORRELATED,
    PLANTED_NOISE,
    PLANTED_FLIPS,
    PLANTED_RATINGS,
    PLANTED_SENSORS,
    CUSTOMERS,
)
DATASETS = {entry.name: entry for entry in ENTRIES}


def names() -> list[str]:
    """Return the names of the data sets, the studio's opening example first."""
    return list(DATASETS)


def info(name: str) -> Dataset:
    """Return what is known of a data set: title, story, task, licence, citation, files.

    Raises
    ------
    ParameterError
        If there is no such data set.
    """
    if not (isinstance(name, str) and name in DATASETS):
        raise ParameterError(f"name={shown(name)} is no data set: give one of {', '.join(DATASETS)}.")
    return DATASETS[name]


def load(name: str) -> HetData:
    """Return a data set as HetData, downloading its files on first use.

    Raises
    ------
    ParameterError
        If there is no such data set.
    DataError
        If a file can't be downloaded, or has another checksum than expected.
    """
    return info(name).load()
