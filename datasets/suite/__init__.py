"""The open suite: problems on which defaults are chosen, others on which they are reported, and some outside both.

>>> from datasets import suite
>>> [problem.name for problem in suite.problems("consensus", "choosing")]
['heco_acm', 'polblogs', 'tolokers', ...]
>>> data = suite.load("polblogs")

**The two halves.** A method's form and defaults may be chosen on the choosing half; figures are reported on the other
one, where nothing was chosen. Halves are dealt by whole families (data sets, and sets made from one source, such as
webkb_universities and mv_webkb), never by rows: within each kind of family (a graph, several tables, transfer between
domains) the families in the order of the SHA-256 of their names go to the two halves in turn, the first one to the
choosing half. A family of several kinds is dealt once, and all of its problems go with it; bitcoin_otc, a graph with
uneven noise, was dealt apart; tables of uneven noise alone were dealt by hand. The data sets on which the project was
tuned earlier are all in the choosing half.

**Outside** are tables that came when the defaults stood (`datasets.suite.rdatasets`). What was chosen on them later,
the form of the residuals' share among it, docs/consensus.md names.

**Leaks** are kept out family by family; each module says what was left out and why. **Sizes** are capped near 6,000
instances (29 land mine fields apart) so that a comparison with many peers takes minutes; seeds and rules of samples
stand in the modules, and no rule looks at a label. Files are downloaded on first use, as those of `datasets`; none is
copied here.
"""

from __future__ import annotations

import polars as pl

from datasets.suite import (
    airports,
    berka,
    bitcoin,
    blogs,
    constituencies,
    domains,
    flights,
    formula1,
    hearts,
    heterophilous,
    mulan,
    multiview,
    noise,
    papers,
    rdatasets,
    spatial,
    students,
    tuned,
    worldcup,
)
from datasets.suite._problem import USES, Domains, SuiteProblem
from hetcore.data import HetData
from hetcore.errors import ParameterError

__all__ = ["Domains", "SuiteProblem", "directed_edges", "load", "names", "problem", "problems"]

HALVES = ("choosing", "reporting")
PARTS = (*HALVES, "outside")
MODULES = (
    papers,
    blogs,
    heterophilous,
    flights,
    constituencies,
    multiview,
    formula1,
    worldcup,
    bitcoin,
    tuned,
    spatial,
    airports,
    berka,
    mulan,
    students,
    domains,
    hearts,
    noise,
    rdatasets,
)
PROBLEMS = {problem.name: problem for module in MODULES for problem in module.PROBLEMS}
DIRECTED = {"polblogs": blogs.directed_links, "bitcoin_otc": bitcoin.directed_ratings}


def problems(use: str, half: str | None = None) -> list[SuiteProblem]:
    """Return the problems of a use, in a fixed order.

    Parameters
    ----------
    use : {"consensus", "collective", "transfer", "noise"}
        What they are wanted for.
    half : {"choosing", "reporting", "outside"}, optional
        One half only, or the part outside both.

    Raises
    ------
    ParameterError
        If there is no such use or half.
    """
    if use not in USES:
        raise ParameterError(f"use={use!r} is not known: give one of {', '.join(USES)}.")
    if half not in (None, *PARTS):
        raise ParameterError(f"half={half!r} is not known: give 'choosing', 'reporting', 'outside' or None.")
    return [each for each in PROBLEMS.values() if use in each.kind and half in (None, each.half)]


def names() -> list[str]:
    """Return the names of all problems."""
    return list(PROBLEMS)


def problem(name: str) -> SuiteProblem:
    """Return what is known of a problem.

    Raises
    ------
    ParameterError
        If there is no such problem.
    """
    if name not in PROBLEMS:
        raise ParameterError(f"name={name!r} is no problem of the suite: give one of {', '.join(PROBLEMS)}.")
    return PROBLEMS[name]


def load(name: str) -> HetData | Domains:
    """Return a problem's data (Domains for a transfer problem), downloading its files on first use.

    Raises
    ------
    ParameterError
        If there is no such problem.
    DataError
        If a file can't be downloaded, or has another checksum than expected.
    """
    return problem(name).load()


def directed_edges(name: str) -> pl.DataFrame:
    """Return the links of a graph as they were set, with direction and sign.

    Parameters
    ----------
    name : {"polblogs", "bitcoin_otc"}
        The problem; the ids are those of `load(name)`. The ratings of bitcoin_otc are the early ones, which its target
        does not hold.

    Returns
    -------
    polars.DataFrame
        `source`, `target`, `weight` (1 for a link, -10 to 10 for a rating); each ordered pair once.

    Raises
    ------
    ParameterError
        If the problem has no directed graph.
    """
    if name not in DIRECTED:
        raise ParameterError(f"name={name!r} has no directed graph: give one of {', '.join(DIRECTED)}.")
    return DIRECTED[name]()
