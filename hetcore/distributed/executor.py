"""A crew whose holders live on the workers of a Dask cluster: who holds what, and what to do when a worker is lost.

    1  a keeper (an actor) on every worker; sources are dealt out, the largest first, to whoever has least
    2  a step is asked of all keepers at once, with the arguments that all sources share sent once a worker
    3  a keeper that does not answer any more is lost: its sources are loaded on other workers, which repeat what those
       sources had learned (labels, the last consensus), and the step is asked of them again

What a source is asked is a function of its arguments, and nothing else is kept on a worker, so the answer has the same
bits whoever gives it, and however often. The model itself, scores and trees, stays with the fit.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hetcore.consensus.source_learners import Holder
from hetcore.consensus.source_states import Crew, Part
from hetcore.distributed.worker_actor import Hired, Step, size_of
from hetcore.distributed.worker_pool import Call, KeeperLostError, Post, Posts
from hetcore.errors import ClusterError

__all__ = ["ClusterCrew"]

REMEMBERED = ("smooth", "refit", "listen", "bin")  # steps that leave something in a holder: the last of each
ROUNDS = ("advance",)  # steps that leave something in each round: all of them
MOST_TRIES = 4  # of one step, each after a loss

_log = logging.getLogger(__name__)


class ClusterCrew(Crew):
    """The holders of a fit's sources on the workers of a client's cluster.

    Parameters
    ----------
    client : distributed.Client
        Connected, not asynchronous.
    """

    apart = True

    def __init__(self, client: Any) -> None:
        self._posts = Posts(client)
        self._hired: list[Hired] = []
        self._labelled: NDArray[np.bool_] | None = None
        self._steps: dict[str, Step] = {}
        self._where: dict[int, Post] = {}
        self._bytes = dict.fromkeys(("sent", "received", "loaded"), 0)
        self._lost = 0

    def hire(self, part: Part, kind: type[Holder], labelled: NDArray[np.bool_], content: Any) -> None:
        """Note the content of a part; it travels when a part is first asked."""
        part.number = len(self._hired)
        self._hired.append(Hired(kind, part.rows, content))
        self._labelled = labelled

    def ask(
        self, what: str, parts: Sequence[Part], shared: tuple = (), own: Sequence[tuple] | None = None
    ) -> list[Any]:
        """Return what each part's holder answers: see `Crew.ask`.

        Raises
        ------
        ClusterError
            If the scheduler or all workers are gone, or a worker fails or is lost again and again.
        """
        own = [()] * len(parts) if own is None else own
        asked = {part.number: mine for part, mine in zip(parts, own)}
        answers: dict[int, Any] = {}
        for _ in range(MOST_TRIES):
            self._place()
            missing = [number for number in asked if number not in answers]
            answers |= self._asked(what, shared, {number: asked[number] for number in missing})
            if len(answers) == len(asked):
                break
        else:
            raise _unable("in one step")
        if what in REMEMBERED:
            self._steps[what] = Step(what, shared, asked)
        elif what in ROUNDS:
            self._steps[f"{what} {len(self._steps)}"] = Step(what, shared, asked)
        return [answers[number] for number in asked]

    def tally(self) -> dict[str, Any]:
        """Return the bytes that travelled since the last call, the workers in use, and those lost since the start."""
        workers = len({post.address for post in self._where.values()})
        said = {"bytes": dict(self._bytes), "workers": workers, "workers_lost": self._lost}
        self._bytes = dict.fromkeys(self._bytes, 0)
        return said

    def close(self) -> None:
        """Let the workers forget the sources."""
        self._where = {}
        self._posts.close()

    def _asked(self, what: str, shared: tuple, asked: Mapping[int, tuple]) -> dict[int, Any]:
        """Ask the sources of these numbers; return the answers of those whose keeper was not lost."""
        groups: dict[str, tuple[Post, dict[int, tuple]]] = {}
        for number, mine in asked.items():
            post = self._where[number]
            groups.setdefault(post.address, (post, {}))[1][number] = mine
        calls = []
        for post, mine in groups.values():
            self._bytes["sent"] += size_of((shared, mine))
            calls.append(self._posts.call(post, "ask", what, shared, mine))
        answers: dict[int, Any] = {}
        for call in calls:
            answers |= self._answer(call) or {}
        self._bytes["received"] += size_of(answers)
        return answers

    def _answer(self, call: Call) -> Any:
        """Return what a keeper answers; None if it is lost, and then nobody holds its sources."""
        try:
            return self._posts.answer(call)
        except KeeperLostError:
            gone = [number for number, post in self._where.items() if post is call.post]
            _log.warning("The Dask worker at %s is gone: %d sources move.", call.post.address, len(gone))
            self._lost += 1
            for number in gone:
                del self._where[number]
            return None

    def _place(self) -> None:
        """Load the sources that nobody holds."""
        for _ in range(MOST_TRIES):
            homeless = [number for number in range(len(self._hired)) if number not in self._where]
            if not homeless:
                return
            calls = [(numbers, self._load(post, numbers)) for post, numbers in self._dealt(homeless)]
            for numbers, call in calls:
                self._where |= dict.fromkeys(numbers, call.post)
                self._answer(call)
        raise _unable("while they loaded")

    def _load(self, post: Post, numbers: Iterable[int]) -> Call:
        hired = {number: self._hired[number] for number in numbers}
        steps = [_of(step, hired) for step in self._steps.values()]
        self._bytes["loaded"] += size_of((list(hired.values()), steps, self._labelled))
        return self._posts.call(post, "take", hired, self._labelled, steps)

    def _dealt(self, numbers: Sequence[int]) -> Iterable[tuple[Post, list[int]]]:
        """Deal sources out to the workers: the largest first, each to the one that holds least."""
        posts = self._posts.manned()
        for post in posts:
            post.held = sum(size_of(self._hired[n]) for n, where in self._where.items() if where is post)
        hands: dict[str, tuple[Post, list[int]]] = {}
        for number in sorted(numbers, key=lambda n: -size_of(self._hired[n])):
            post = min(posts, key=lambda each: each.held)
            post.held += size_of(self._hired[number])
            hands.setdefault(post.address, (post, []))[1].append(number)
        return hands.values()


def _unable(when: str) -> ClusterError:
    causes = "they may lack memory, or not be reachable from here"
    return ClusterError(f"Dask workers were lost {MOST_TRIES} times {when}: see their logs, {causes}.")


def _of(step: Step, numbers: Iterable[int]) -> Step:
    """Return the part of a step that these sources took."""
    return step._replace(own={number: step.own[number] for number in numbers if number in step.own})
