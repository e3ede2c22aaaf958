"""Run experiments from a shell, or print what they came to.

python -m experiments                                  the list
python -m experiments gbc-figure-3 --scope full        run it, going on where an earlier run stopped
python -m experiments all --results docs/results --claims > docs/papers.md   # a row for each claim of a paper
python -m experiments all --results docs/results --table    # means over the seeds
python -m experiments all --results docs/results --pack     # finished cells to Parquet
python -m experiments mgb-figure-1 --cluster tcp://scheduler:8786
"""

from __future__ import annotations

import argparse
import sys

from experiments import tables
from experiments.cluster import CONNECT_SECONDS, add_cluster, on_cluster
from experiments.experiment import SCOPES, info, names
from experiments.runner import outcome, pack, run
from hetcore.errors import ClusterError, ParameterError
from hetcore.events import ProgressBar

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> int:
    """Do what the arguments say; return 2 with one sentence for what can't be done."""
    args = _parser().parse_args(arguments)
    # A paper's name stands for all its parts, in the list's order.
    asked = [name for given in args.names for name in _meant(given)]
    try:
        if not asked:
            sys.stdout.write(tables.listing())
        elif args.pack:
            for name in asked:
                pack(name, args.results)
        elif args.table or args.claims:
            outcomes = [outcome(name, args.scope, args.results) for name in asked]
            sys.stdout.write((tables.claimed if args.claims else tables.page)(outcomes, args.results))
        else:
            for name in asked:
                _run(name, args)
    except (ClusterError, ParameterError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


def _meant(given: str) -> list[str]:
    """Return the experiments that a name, a paper or "all" stands for."""
    # A name that is none goes on as it is, so that it is refused in words, with those that there are.
    if given == "all":
        return names()
    return [name for name in names() if info(name).paper == given] or [given]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m experiments", description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="experiments, papers (gbc, mgb, ...), or all; none lists them")
    parser.add_argument("--scope", choices=SCOPES, default="full", help="all seeds, or the few of the studio's page")
    parser.add_argument("--results", help="folder of the finished cells")
    parser.add_argument("--table", action="store_true", help="print what is there, run nothing")
    parser.add_argument("--claims", action="store_true", help="print a row for each claim, run nothing")
    parser.add_argument("--pack", action="store_true", help="move finished cells to Parquet, run nothing")
    add_cluster(parser)
    return parser


def _run(name: str, args: argparse.Namespace) -> None:
    info(name)
    # A cluster that doesn't answer is refused before anything is computed.
    with on_cluster(args.cluster, CONNECT_SECONDS) as parallel:
        found = run(name, args.scope, args.results, [ProgressBar()], parallel)
    sys.stdout.write(f"{name}: {found.verdict}\n")


if __name__ == "__main__":
    sys.exit(main())
