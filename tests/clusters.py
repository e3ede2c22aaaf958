"""One Dask cluster for all tests of a process that need workers in processes: each of those takes seconds to start."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

PATIENCE = 300.0  # machines may be busy
QUIET = {"dashboard_address": ":0", "silence_logs": logging.CRITICAL}


@pytest.fixture(scope="session")
def cluster() -> Iterator:
    """Two worker processes of one thread."""
    dask = pytest.importorskip("distributed", reason="Dask is not installed: pip install -r requirements-dask.txt")
    with dask.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, **QUIET) as made:
        yield made


@pytest.fixture(scope="session")
def shared_client(cluster) -> Iterator:
    """Who is connected to them, and is no one's default."""
    import distributed

    with distributed.Client(cluster.scheduler_address, direct_to_workers=True, set_as_default=False) as made:
        yield made


@pytest.fixture
def client(shared_client):
    """A client with both workers up, after a test that killed one too."""
    shared_client.wait_for_workers(2, PATIENCE)
    return shared_client
