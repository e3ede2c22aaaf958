"""Print the problems of the suite as Markdown: `python -m datasets.suite > docs/suite.md`."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from datasets import suite
from datasets.suite import Domains, SuiteProblem
from datasets.suite._files import FILES
from datasets.suite._sources import SOURCES
from hetcore.data import HetData

__all__ = ["document"]

MOST_LISTED = 6

HEAD = """# The open suite

Written by `python -m datasets.suite > docs/suite.md` from the problems in [datasets/suite/](../datasets/suite).

Defaults are chosen on the choosing half and reported on the other one, to which nothing was fitted. The halves are
dealt by whole data sets: within each kind (a graph, several tables, transfer), families in the order of the SHA-256
of their names, in turn; the data sets on which the project was tuned before are all in the choosing half. Outside both
are tables that came when the defaults stood. What was left out as a leak, and how samples were drawn, stands at the
head of each family's file. Behind a table: its columns, and the share of the instances that it records; behind a
graph: its edges.
"""


def document() -> str:
    """Return docs/suite.md."""
    lines = [HEAD]
    for half in suite.PARTS:
        chosen = [each for each in map(suite.problem, suite.names()) if each.half == half]
        title = f"{half.title()} half" if half in suite.HALVES else half.title()
        lines += [f"## {title}\n", *_aligned([each for each in chosen if "transfer" not in each.kind]), ""]
        domains = [each for each in chosen if "transfer" in each.kind]
        lines += [*_domains(domains), ""] if domains else []
    return "\n".join([*lines, *_sources()])


def _sources() -> Iterator[str]:
    yield "## Where the files come from\n"
    yield "| repository, commit | problems | terms | cite |"
    yield "|---|---|---|---|"
    for repository, (commit, _) in FILES.items():
        link = f"[{repository}](https://github.com/{repository}), `{commit[:10]}`"
        yield f"| {' | '.join((link, *SOURCES[repository]))} |"


def _aligned(problems: list[SuiteProblem]) -> list[str]:
    lines = ["| problem | family | uses | target | n | tables | graphs |", "|---|---|---|---|---|---|---|"]
    for problem in problems:
        data = problem.load()
        cells = [problem.name, problem.family, ", ".join(problem.kind), _target(data), f"{data.n:,}"]
        lines.append(f"| {' | '.join([*cells, _tables(data), _graphs(data)])} |")
    return lines


def _target(data: HetData) -> str:
    if data.classes:
        return f"{len(data.classes)} classes"
    y = data.y[data.labelled]
    return f"number, {y.mean():.3g} ± {y.std():.3g}"


def _tables(data: HetData) -> str:
    covered = data.mask.mean(axis=1)
    widths = [1 if source.frame is None else source.frame.width for source in data.sources.values()]
    return ", ".join(f"{name} {width} [{share:.0%}]" for name, width, share in zip(data.sources, widths, covered))


def _graphs(data: HetData) -> str:
    return ", ".join(f"{name} [{graph.n_edges:,}]" for name, graph in data.graphs.items()) or "none"


def _domains(problems: list[SuiteProblem]) -> list[str]:
    lines = ["| transfer problem | family | target | its domain | domains (rows x columns) |", "|---|---|---|---|---|"]
    for problem in problems:
        held = problem.load()
        cells = [problem.name, problem.family, _labels(held), held.target, _sizes(held)]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _labels(held: Domains) -> str:
    if held.task == "regression":
        return "number"
    return f"{len(set().union(*(each.tolist() for each in held.labels.values())))} classes"


def _sizes(held: Domains) -> str:
    sizes = {name: f"{len(table)}x{table.width}" for name, table in held.tables.items()}
    if len(sizes) <= MOST_LISTED:
        return ", ".join(f"{name} {size}" for name, size in sizes.items())
    rows = sorted(len(table) for table in held.tables.values())
    return f"{len(sizes)} of {rows[0]} to {rows[-1]} rows, {held.target} {sizes[held.target]}"


if __name__ == "__main__":
    sys.stdout.write(document() + "\n")
