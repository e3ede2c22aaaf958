"""Print what the cells of wms-eta come to: `python -m experiments.eta --results docs/results > FILE`.

A row is a set and a number of target labels: the mean error at each eta, that of "auto", and the paired differences of
both ends and of "auto" to the best fixed eta with their standard errors.
"""

from __future__ import annotations

import argparse
import sys

from numpy.typing import NDArray

from experiments.eta.path import AUTO
from experiments.runner import outcome
from hetcore.numerics import standard_error

__all__ = ["rows", "table"]

NAME = "wms-eta"


def rows(data: str, labels: int, errors: NDArray, auto: NDArray) -> list[str]:
    """Return a row's cells for errors (s, E) at fixed etas and (s,) of "auto"."""
    best = int(errors.mean(axis=0).argmin())
    shown = [f"**{e:.3f}**" if k == best else f"{e:.3f}" for k, e in enumerate(errors.mean(axis=0))]
    gaps = [each - errors[:, best] for each in (errors[:, 0], errors[:, -1], auto)]
    beyond = [f"{gap.mean():.3f} ± {standard_error(gap):.3f}" for gap in gaps]
    return [data, str(labels), *shown, f"{auto.mean():.3f}", *beyond, f"{standard_error(errors[:, best]):.3f}"]


def table(results: str | None) -> str:
    """Return the table in Markdown, of the seeds that all methods have."""
    found = outcome(NAME, "full", results)
    cells, etas = found.cells, [method for method in found.experiment.cells["method"] if method != AUTO]
    ends = [f"η = {end} − best" for end in (etas[0], etas[-1])]
    head = ["set", "labels", *etas, AUTO, *ends, "auto − best", "± of the best"]
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    for (data, labels), each in cells.group_by(["data", "labels"], maintain_order=True):
        wide = each.pivot("method", index="seed", values="error").drop_nulls()
        values = rows(data, labels, wide.select(etas).to_numpy(), wide[AUTO].to_numpy())
        lines.append(f"| {' | '.join(values)} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser("python -m experiments.eta", description=__doc__.splitlines()[0])
    parser.add_argument("--results", help="folder of the finished cells")
    sys.stdout.write(table(parser.parse_args().results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
