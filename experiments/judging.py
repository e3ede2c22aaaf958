"""The verdict on an experiment, and on each sentence of its claim: holds, holds in part, doesn't hold here.

Rules say what is compared: `experiments.rules`. A claim holds where its rules hold at every place, in part
where they hold at more than a quarter of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import polars as pl

from experiments.experiment import Experiment
from experiments.rules import Finding, finding

__all__ = ["Claim", "Finding", "Verdict", "claims", "judged"]

UNCLEAR = "not run yet"


class Verdict(NamedTuple):
    """ "holds", "holds in part", "doesn't hold here" or "not run yet", and the findings that say why."""

    word: str
    findings: tuple[Finding, ...]

    def __str__(self) -> str:
        return ". ".join([self.word.capitalize(), *(finding.words for finding in self.findings)]) + "."


class Claim(NamedTuple):
    """One sentence of what a paper claims, and what came of it.

    Attributes
    ----------
    words : str
    verdict : Verdict
        On the paper's own method, as printed.
    beside : Verdict
        On what stands beside it: the library's default, peers.
    why : str
        Why it doesn't hold, or only in part; empty where the numbers say it all.
    """

    words: str
    verdict: Verdict
    beside: Verdict
    why: str


def judged(experiment: Experiment, cells: pl.DataFrame) -> Verdict:
    """Return the verdict over the finished cells."""
    found = _findings(experiment, cells)
    word = _word(each for each in found if not each.beside)
    return Verdict(word, tuple(found) if word != UNCLEAR else ())


def claims(experiment: Experiment, cells: pl.DataFrame) -> list[Claim]:
    """Return each sentence of the claim with its verdict."""
    found = _findings(experiment, cells)
    whys = dict(enumerate(experiment.why, 1))
    return [
        Claim(
            words,
            *(_verdict([each for each in found if each.claim == number and each.beside is beside])
              for beside in (False, True)),
            whys.get(number, ""),
        )
        for number, words in enumerate(experiment.claim, 1)
    ]  # fmt: skip


def _findings(experiment: Experiment, cells: pl.DataFrame) -> list[Finding]:
    rules = experiment.verdict.get("rules", ()) if cells.height else ()
    found = [finding(experiment, cells, rule) for rule in rules]
    return [each for each in found if each.places]


def _verdict(found: list[Finding]) -> Verdict:
    return Verdict(_word(found), tuple(found))


def _word(found: Iterable[Finding]) -> str:
    found = list(found)
    held, places = sum(each.held for each in found), sum(each.places for each in found)
    if not places:
        return UNCLEAR
    return "holds" if held == places else "holds in part" if held > places / 4 else "doesn't hold here"
