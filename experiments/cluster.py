"""Cells of experiments on a Dask cluster by its scheduler's address; joblib's part for Dask deals them out."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hetcore.errors import ParameterError

__all__ = ["CONNECT_SECONDS", "add_cluster", "on_cluster"]

CONNECT_SECONDS = 10.0


def add_cluster(parser: argparse.ArgumentParser) -> None:
    """Let a shell command take the address of a cluster."""
    words = "of a Dask scheduler, such as tcp://scheduler:8786, whose workers compute the cells"
    parser.add_argument("--cluster", metavar="ADDRESS", help=words)


@contextmanager
def on_cluster(address: str | None, seconds: float = CONNECT_SECONDS) -> Iterator[Any]:
    """Give joblib over a Dask cluster, whose answers come as they are done; None without an address.

    Raises
    ------
    ParameterError
        If Dask is not installed.
    ClusterError
        If nobody answers at the address, or workers are of another version.
    """
    if address is None:
        yield None
        return
    import joblib

    # In reverse on the way out, as with-statements end: joblib lets go of the client before that closes.
    with _client(address, seconds) as client, joblib.parallel_config("dask", client=client):
        yield joblib.Parallel(return_as="generator_unordered")


def _client(address: str, seconds: float) -> Any:
    from hetcore import distributed
    from hetcore.distributed.tasks import check_workers

    try:
        client = distributed.connect(address, seconds)
    except ImportError:
        raise ParameterError("--cluster needs Dask: pip install -r requirements-dask.txt") from None
    try:
        check_workers(client)
    except BaseException:
        client.close()
        raise
    return client
