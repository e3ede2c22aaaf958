"""Factorizations on a cluster: each worker visits blocks of users and items that have nothing in common with others'.

What travels, for n entries and tables of N rows and D factors: entries once, 12 bytes each, to the workers that keep
them, a strip of users whole on one; in each epoch all tables to the workers and back, some 4 N (D + 4) bytes each way,
and between workers the strips of items, of which each visits all users' workers in turn. Dask's scheduler deals the
visits out where the entries are.
"""

from __future__ import annotations

import time
from concurrent.futures import CancelledError
from operator import itemgetter
from typing import Any

from hetcore.distributed.tasks import check_workers
from hetcore.distributed.worker_pool import POLL_SECONDS, WAIT_SECONDS
from hetcore.errors import ClusterError
from hetcore.factorization.strips import Block, Part, visit

__all__ = ["DaskStrips"]

LOSSES = 4  # of workers, in one epoch


class DaskStrips:
    """Visits the blocks of an epoch on a cluster; see `hetcore.factorization.strips.one_by_one`.

    Parameters
    ----------
    client : distributed.Client
    """

    def __init__(self, client: Any) -> None:
        self._client = client
        self._loaded: dict[tuple[int, int], Block] | None = None
        self._held: dict[tuple[int, int], Any] = {}
        self._checked = False

    def __call__(
        self, blocks: dict[tuple[int, int], Block], users: list[Part], items: list[Part], plan: list[tuple[int, Any]]
    ) -> tuple[list[Part], list[Part], list[Any]]:
        """Visit all blocks; a worker that is lost costs an epoch, for the tables are kept here until its end.

        Raises
        ------
        ClusterError
            If there is no worker, or workers are lost again and again.
        """
        from distributed import KilledWorker

        for _ in range(LOSSES):
            try:
                self._load(blocks)
                return self._visited(users, items, plan)
            except (CancelledError, KilledWorker, OSError):
                # with a worker its entries are lost: all are sent again to those that are left, as soon as the
                # scheduler knows who they are
                self._loaded = None
                time.sleep(POLL_SECONDS)
        raise ClusterError(f"Workers of the Dask cluster were lost {LOSSES} times in one epoch: see their logs.")

    def _load(self, blocks: dict[tuple[int, int], Block]) -> None:
        if self._loaded is blocks:
            return
        if not self._checked:
            check_workers(self._client)
            self._checked = True
        self._client.wait_for_workers(1, WAIT_SECONDS)
        addresses = sorted(self._client.scheduler_info(n_workers=-1)["workers"])
        self._held.clear()
        for k, address in enumerate(addresses):
            # a strip of users on one worker: its part of the tables then stays there from visit to visit
            mine = [pair for pair in blocks if pair[0] % len(addresses) == k]
            if mine:
                sent = self._client.scatter([blocks[pair] for pair in mine], workers=[address], hash=False)
                self._held |= dict(zip(mine, sent))
        self._loaded = blocks

    def _visited(self, users: list[Part], items: list[Part], plan: list[tuple[int, Any]]) -> Any:
        client, totals = self._client, []
        users, items = (client.scatter(parts, hash=False) for parts in (users, items))
        for diagonal, given in plan:
            for p in range(len(users)):
                q = (p + diagonal) % len(items)
                done = client.submit(visit, self._held[p, q], users[p], items[q], given[p], pure=False)
                users[p], items[q], sums = (client.submit(itemgetter(k), done, pure=False) for k in range(3))
                totals.append(sums)
        return client.gather([users, items, totals])
