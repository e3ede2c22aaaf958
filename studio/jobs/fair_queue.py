"""A queue that is fair between owners: next is who has the fewest runs in work, then who was served longest ago."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator

__all__ = ["FairQueue"]


class FairQueue:
    """Run ids by owner; first come, first served within one owner. Not thread-safe: its owner holds the lock."""

    def __init__(self) -> None:
        self._waiting: dict[str, deque[str]] = {}
        self._working: Counter[str] = Counter()
        self._served: dict[str, int] = {}
        self._turn = 0

    def push(self, owner: str, item: str) -> None:
        """Add an item at the end of its owner's line."""
        self._waiting.setdefault(owner, deque()).append(item)

    def pop(self) -> str | None:
        """Take the next item and count its owner as having one more in work; None when nobody waits."""
        owner = _next_owner(self._waiting, self._working, self._served)
        if owner is None:
            return None
        item = self._waiting[owner].popleft()
        self._forget_if_empty(owner)
        self._working[owner] += 1
        # Turns are counted, not timed: two runs taken within one tick of the clock still have an order.
        self._turn += 1
        self._served[owner] = self._turn
        return item

    def done(self, owner: str) -> None:
        """Say that one of the owner's items in work has ended."""
        self._working[owner] -= 1
        # An owner at zero is dropped, for what follows asks whether anybody is left.
        if self._working[owner] <= 0:
            del self._working[owner]
        # Nobody is left to be compared with; clearing here keeps the turns from growing with the studio's life.
        if not self._waiting and not self._working:
            self._served.clear()

    def remove(self, owner: str, item: str) -> bool:
        """Take an item out of the line; False if it is not waiting."""
        if item not in self._waiting.get(owner, ()):
            return False
        self._waiting[owner].remove(item)
        self._forget_if_empty(owner)
        return True

    def place(self, item: str) -> int:
        """Items that would be served before this one, plus one; 0 if it is not waiting."""
        return next((k for k, waiting in enumerate(self.order(), 1) if waiting == item), 0)

    def order(self) -> Iterator[str]:
        """Items in the order in which they would be served if none ended meanwhile."""
        # Copies, for asking who is next must not move the queue.
        waiting = {owner: deque(line) for owner, line in self._waiting.items()}
        working, served, turn = self._working.copy(), dict(self._served), self._turn
        while (owner := _next_owner(waiting, working, served)) is not None:
            yield waiting[owner].popleft()
            working[owner] += 1
            turn += 1
            served[owner] = turn

    def _forget_if_empty(self, owner: str) -> None:
        if not self._waiting[owner]:
            del self._waiting[owner]

    def __len__(self) -> int:
        return sum(map(len, self._waiting.values()))


def _next_owner(waiting: dict[str, deque[str]], working: Counter[str], served: dict[str, int]) -> str | None:
    owners = [owner for owner, line in waiting.items() if line]
    return min(owners, key=lambda owner: (working[owner], served.get(owner, 0)), default=None)
