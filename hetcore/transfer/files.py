"""What files of transfer models hold that other models' do not: votes and blended machines.

Each is a kind of `hetcore.schema` of its own: `put` adds to what a file holds, `get` checks and returns it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from hetcore.binning import BinMapper
from hetcore.checks import finite
from hetcore.errors import ModelFileError
from hetcore.forest import Forest
from hetcore.schema import Array, block, prefixed
from hetcore.transfer.candidates import LinearMachine, TreeMachine
from hetcore.transfer.learners import TreeVotes
from hetcore.transfer.linear_learner import MOST_PLAIN, LinearVotes, Projection
from hetcore.transfer.together import BothVotes

__all__ = ["Machines", "VoteSums", "kind_of"]

MACHINES = ("", "column", "slopes", "trees")


class VoteSums:
    """The sum of votes of each problem, of one class against the others, over one binning, one projection or both."""

    def put(self, name: str, given: list[Any], meta: dict[str, Any], arrays: dict[str, NDArray]) -> None:
        """Add the votes to what a file holds."""
        meta["learner"] = kind = kind_of(given[0])
        if kind != "tree":
            linear = [votes.linear if kind == "both" else votes for votes in given]
            arrays |= linear[0].projection.to_state()[1]
            for k, votes in enumerate(linear):
                arrays |= prefixed(str(k), votes.to_arrays())
        if kind != "linear":
            trees = [votes.trees if kind == "both" else votes for votes in given]
            arrays |= prefixed("bins", trees[0].mapper.to_arrays())
            for k, votes in enumerate(trees):
                arrays |= prefixed(f"{'trees ' if kind == 'both' else ''}{k}", votes.forest.to_arrays())

    def get(self, name: str, meta: Mapping[str, Any], arrays: Mapping[str, NDArray], sizes: dict[str, int]) -> list:
        """Return the votes of a file."""
        kind, found = meta.get("learner", "tree"), range(sizes["K"])
        if kind == "linear":
            return _linear_votes([block(arrays, str(k)) for k in found], arrays, sizes)
        trees = _tree_votes([block(arrays, f"trees {k}" if kind == "both" else str(k)) for k in found], arrays, sizes)
        if kind != "both":
            return trees
        linear = _linear_votes([block(arrays, str(k)) for k in found], arrays, sizes)
        return [BothVotes(*each) for each in zip(linear, trees)]


def kind_of(votes: Any) -> str:
    """Return the name of what votes: "linear", "tree" or "both"."""
    if isinstance(votes, BothVotes):
        return "both"
    return "linear" if isinstance(votes, LinearVotes) else "tree"


def _tree_votes(blocks: list[dict], arrays: Mapping[str, NDArray], sizes: dict[str, int]) -> list[TreeVotes]:
    mapper = BinMapper._read({}, block(arrays, "bins"), sizes)
    return [TreeVotes(mapper, Forest.from_arrays(each, sizes["d"])) for each in blocks]


def _linear_votes(blocks: list[dict], arrays: Mapping[str, NDArray], sizes: dict[str, int]) -> list[LinearVotes]:
    projection = Projection._read({}, arrays, sizes)
    # fewer columns than components were never rotated
    if sizes["d"] <= MOST_PLAIN and projection.rotates:
        raise ModelFileError("The projection of the model file is none of its columns: save the model again.")
    m = sizes["m"] + 1
    found = [(Array("T m").read(each, "machines", {"m": m}), Array("T").read(each, "scales")) for each in blocks]
    if any(len(machines) != len(scales) for machines, scales in found):
        raise ModelFileError("The machines of the model file are not as many as their scales: save it again.")
    return [LinearVotes(projection, list(machines), scales.tolist()) for machines, scales in found]


class Machines:
    """The machines of a blend with their shares and steepnesses."""

    def put(self, name: str, given: list[Any], meta: dict[str, Any], arrays: dict[str, NDArray]) -> None:
        """Add the machines to what a file holds."""
        shares, steepnesses, machines = zip(*given)
        meta |= {"shares": list(shares), "steepnesses": list(steepnesses)}
        meta["machines"] = [getattr(machine, "what", "trees") for machine in machines]
        for k, machine in enumerate(machines):
            own = machine.forest.to_arrays() if meta["machines"][k] == "trees" else {"weights": machine.weights}
            arrays |= prefixed(str(k), own | {"intercept": machine.intercept})

    def get(self, name: str, meta: Mapping[str, Any], arrays: Mapping[str, NDArray], sizes: dict[str, int]) -> list:
        """Return the machines of a file."""
        shares, taus, kinds = meta["shares"], meta["steepnesses"], meta["machines"]
        fits = len(shares) == len(taus) == len(kinds) > 0 and all(kind in MACHINES for kind in kinds)
        # shares and steepnesses multiply scores: an infinite one would decide alone
        if not fits or not all(finite(each) and 0 < each <= 8 for each in (*shares, *taus)):
            raise ModelFileError("The blend of the model file has no known machines with shares: save the model again.")
        built = [_machine(kind, block(arrays, str(k)), sizes, meta["n_domains"]) for k, kind in enumerate(kinds)]
        return list(zip(shares, taus, built))


def _machine(kind: str, arrays: Mapping[str, NDArray], sizes: dict[str, int], n_domains: int) -> Any:
    own, m = {"K": sizes["C"]}, sizes["m"]
    intercept = Array("K").read(arrays, "intercept", own)
    if kind == "trees":
        return TreeMachine(Forest._read({}, arrays, own | {"d": sizes["d"] + 1}), intercept)
    own["m"] = {"": m, "column": m + n_domains, "slopes": 2 * m + 1}[kind]
    return LinearMachine(kind, Array("m K").read(arrays, "weights", own), intercept)
