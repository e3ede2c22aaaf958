"""Run or print the open suite from a shell; see `experiments.suite`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from experiments import cells
from experiments.cluster import add_cluster, on_cluster
from experiments.suite import printing, runner
from experiments.suite.uses import USES
from hetcore.errors import ClusterError, DataError, ParameterError

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the arguments say; return 2 with one sentence for what can't be done."""
    args = _parser().parse_args(arguments)
    try:
        (_run if args.command == "run" else _print)(args)
    except (ClusterError, DataError, ParameterError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


def _problems(args: argparse.Namespace) -> list[Any]:
    from datasets import suite  # beside hetcore, not below it: only experiments need it

    found = {each.name: each for each in suite.problems(args.use, args.half)}
    asked = _listed(args.problems) or list(found)
    for name in asked:
        if name not in found:
            raise ParameterError(f"problem={name!r} is not one of the use and half: give some of {', '.join(found)}.")
    return [each for name, each in found.items() if name in asked]


def _shares(args: argparse.Namespace) -> list[float] | None:
    try:
        return [float(share) for share in args.shares.split(",")] if args.shares else None
    except ValueError:
        raise ParameterError(f"shares={args.shares!r} are not numbers: give some as 10,50,90.") from None


def _run(args: argparse.Namespace) -> None:
    use = USES[args.use]
    methods = _listed(args.methods) or [*use.methods, *use.peers]
    shares = _shares(args)
    with on_cluster(args.cluster) as parallel:
        runner.run(
            args.use,
            _problems(args),
            methods,
            shares=shares,
            splits=args.splits,
            results=args.results,
            progress=_print_line,
            first=args.first,
            parallel=parallel,
        )


def _print_line(line: str) -> None:
    sys.stdout.write(line + "\n")
    # Piped output is held back by blocks, and a night's run would look as if it stood still.
    sys.stdout.flush()


def _print(args: argparse.Namespace) -> None:
    use, problems = USES[args.use], _problems(args)
    method = args.method or next(iter(use.methods))
    there = runner.read(args.results, args.use, problems)
    names = {problem.name for problem in problems}
    shares = _shares(args)
    # The file has cells of all problems and shares; asked is for some.
    kept = [each for each in there if each["problem"] in names and (shares is None or each["share"] in shares)]
    # cells of peers whose library is not installed here are told too
    others = (each["method"] for each in kept if each["method"] not in use.methods)
    peers = _listed(args.methods) or [*dict.fromkeys([*use.peers, *others])]
    # The best peer is one of those that were asked for, or the table would not be about them.
    kept = [each for each in kept if each["method"] in {method, *peers}]
    if args.command == "seconds":
        sys.stdout.write(printing.seconds_table(kept, method, use.unit))
    else:
        sys.stdout.write(printing.table(kept, method, peers, use.unit))


def _listed(names: str | None) -> list[str]:
    """Return names that are divided by commas; "; " divides names that hold commas themselves."""
    return [name.strip() for name in names.split(";" if ";" in names else ",")] if names else []


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m experiments.suite", description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=["run", "table", "seconds"])
    parser.add_argument("--use", choices=list(USES), default="consensus")
    parser.add_argument("--half", choices=["choosing", "reporting", "outside"], help="all problems unless given")
    parser.add_argument("--problems", help="some of them, by name, divided by commas")
    parser.add_argument("--methods", help="methods and peers to run, or the peers of the table; all unless given")
    parser.add_argument("--method", help="the method that a table judges; the use's first unless given")
    parser.add_argument("--shares", help="label shares in percent, such as 10,50,90; of transfer numbers of labels")
    parser.add_argument("--splits", type=int, default=5, help="label splits")
    parser.add_argument("--first", type=int, default=0, help="the first split to run")
    parser.add_argument("--results", default=str(cells.folder()), help="folder of the finished cells")
    add_cluster(parser)
    return parser


if __name__ == "__main__":
    sys.exit(main())
