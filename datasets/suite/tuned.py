"""The data sets on which the project was tuned before there was a suite: in the choosing half, all of them.

Loaded as they stand in `datasets`; see there for terms and preparation.
"""

from __future__ import annotations

from datasets import digits, mfeat, movie_revenue, movies, terrorist
from datasets.suite._problem import CONSENSUS, GRAPH, SuiteProblem

__all__ = ["PROBLEMS"]

ENTRIES = (
    (mfeat.MFEAT, GRAPH),
    (terrorist.TERRORIST_ATTACKS, GRAPH),
    (movies.MOVIE_RATINGS, GRAPH),
    (digits.DIGITS_VIEWS, CONSENSUS),
    (movie_revenue.MOVIE_REVENUE, ("collective",)),
)
PROBLEMS = tuple(
    SuiteProblem(entry.name, entry.name, kind, task=entry.task, half="choosing", load=entry.load, story=entry.story)
    for entry, kind in ENTRIES
)
