"""What an experiment is, read from its file.

    paper = "gbc"
    part = "Figure 3"
    title = "Several sources against one table of everything"
    claim = ["What the paper says, in up to four sentences."]
    place = ["Section 5.2, Figure 3"]   # of each of them in the paper; `part` unless given
    number = ["9% against 13%"]         # the paper's own, of each of them; empty where it gives none
    why = ["Why each of them doesn't hold here, or only in part; empty where the numbers say it all."]
    by_construction = [2]               # sentences that can't fail, so that their cells are no evidence
    note = "What stands in for data that can't be had."
    stand_in = "MovieLens 100K in place of 1M"   # the same in a few words, beside the verdict
    protocol = "consensus"

    [cells]                      # one cell for each combination, in this order
    data = ["mfeat", "terrorist_attacks"]
    setting = ["uniform"]
    method = ["as printed", "SVM, joined"]
    fraction = [0.1, 0.5, 0.9]
    split = 10                   # a number n stands for 0 to n - 1

    [page]                       # what is run on the page instead
    data = ["terrorist_attacks"]
    split = 2

    [figure]
    x = "fraction"               # the axis; lines are methods, one panel for each of the data
    x_title = "share of labels known"

    [verdict]                    # each rule is a paired comparison, see experiments.verdicts
    rules = [{ours = "as printed", theirs = "SVM, joined", says = "below"}]

    [seconds]                    # of a cell of the page by method, where it was tried: told before one has run
    "as printed" = 6.0

Methods and what a cell does are the protocol's: `experiments.protocols`.
"""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from hetcore.data.text import listed
from hetcore.errors import ParameterError

__all__ = ["PAPERS", "Experiment", "info", "names"]

FILES = Path(__file__).parent / "files"
PAPERS = {
    "gbc": "Shi, Paiement, Grangier, Yu: gradient boosting consensus",
    "mgb": "Alodah, Neville: gradient boosting with collective inference",
    "2wl": "Treviño Gavito, Klabjan, Utke: two weak learners, boosted feature vectors",
    "wms": "Antunes, Bernardino, Smailagic, Siewiorek: weighted multi-source TrAdaBoost",
    "hgbm": "Lee, Yang, Lin, Lin: heteroscedastic boosting and factorization",
}
SCOPES = ("page", "full")
LISTS = ("claim", "place", "number", "why", "by_construction")
"""Fields that have an entry for each sentence of a claim, or name some of them."""
KINDS = ("Figure", "Table", "Theorem", "Section", "Abstract")
"""Of parts, in the order in which they are listed; what goes beyond the papers comes last."""


@dataclass(frozen=True)
class Experiment:
    """One figure or table of a paper.

    Attributes
    ----------
    name : str
        Such as "gbc-figure-3".
    paper, part, title : str
        Key of `PAPERS`; "Figure 3"; what it is about.
    claim : tuple of str
        What the paper says, in up to four sentences.
    protocol : str
        A key of `experiments.protocols.PROTOCOLS`: what one cell does.
    cells, page : mapping of str to list
        Values of each part of a cell's key, for a full run; what differs on the page.
    figure, verdict : mapping
        How the outcome is drawn, and judged by the rules of `experiments.verdicts`.
    note : str
        What stands in for data that can't be had, or what else differs from the paper.
    stand_in : str
        What the cells are of in place of the paper's data, for the verdict: a few words.
    place, number : tuple of str
        Of each sentence, where the paper says it, and the paper's own number.
    why : tuple of str
        For each sentence of the claim, why it doesn't hold here or only in part; empty where the numbers say it all.
    by_construction : tuple of int
        Numbers of the sentences, from 1 on, that hold by construction: nothing that runs could refute them.
    seconds : mapping of str to float
        That a cell of the page took by method, where it was tried: the estimate before one has run.
    """

    name: str
    paper: str
    part: str
    title: str
    claim: tuple[str, ...]
    protocol: str
    cells: Mapping[str, list[Any]]
    page: Mapping[str, list[Any]] = field(default_factory=dict)
    figure: Mapping[str, Any] = field(default_factory=dict)
    verdict: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""
    stand_in: str = ""
    place: tuple[str, ...] = ()
    number: tuple[str, ...] = ()
    why: tuple[str, ...] = ()
    by_construction: tuple[int, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)

    def keys(self, scope: str = "full") -> list[tuple[Any, ...]]:
        """Return the keys of the cells, seeds outermost, so that a stopped run is complete for some seeds.

        Raises
        ------
        ParameterError
            If there is no such scope.
        """
        if scope not in SCOPES:
            raise ParameterError(f"scope={scope!r} is not known: give one of {listed(SCOPES)}.")
        values = {**self.cells, **(self.page if scope == "page" else {})}
        order = [*values][::-1]  # the last part of a key, the seed, is outermost
        found = itertools.product(*(values[part] for part in order))
        return [tuple(dict(zip(order, key))[part] for part in values) for key in found]

    @property
    def beyond(self) -> bool:
        """Whether it goes beyond the paper."""
        return self.part.startswith("Beyond")

    @property
    def seed(self) -> str:
        """Return the part of a key over which means are taken: the last one."""
        return [*self.cells][-1]


@cache
def _all() -> dict[str, Experiment]:
    found = {path.stem: _read(path) for path in FILES.glob("*.toml")}
    # In the order of the papers, and of a paper in that of its own parts.
    return dict(sorted(found.items(), key=lambda item: (list(PAPERS).index(item[1].paper), _place(item[1].part))))


def _place(part: str) -> tuple[int, int, str]:
    kind, _, number = part.partition(" ")
    # Digits alone: "4a" is in its place beside "4".
    digits = "".join(itertools.takewhile(str.isdigit, number))
    return KINDS.index(kind) if kind in KINDS else len(KINDS), int(digits or 0), number


def _read(path: Path) -> Experiment:
    fields = tomllib.loads(path.read_text("utf-8"))
    lists = {scope: {k: _values(v) for k, v in fields.pop(scope, {}).items()} for scope in ("cells", "page")}
    words = {name: tuple(fields.pop(name, ())) for name in LISTS}
    return Experiment(name=path.stem, **words, **lists, **fields)


def _values(given: Any) -> list[Any]:
    return list(range(given)) if isinstance(given, int) else list(given)


def names() -> list[str]:
    """Return the names of all experiments, paper by paper."""
    return list(_all())


def info(name: str) -> Experiment:
    """Return an experiment.

    Raises
    ------
    ParameterError
        If there is none of that name.
    """
    if name not in _all():
        raise ParameterError(f"name={name!r} is no experiment: give one of {listed(names(), 40)}.")
    return _all()[name]
