"""Connections to a database server that are refused, and not waited for, while the server does not answer.

The driver waits two minutes for a host that is gone, and for ever for an answer on a connection that was open: here a
host is tried for `ANSWER` seconds before the driver is asked, and after one that did not answer nothing is asked for
`REST` seconds, for a page asks for several things and would wait for each.
"""

from __future__ import annotations

import socket
import time
from typing import Any

import sqlalchemy as sa

__all__ = ["ANSWER", "REST", "server_engine"]

ANSWER = 0.5
"""Seconds within which a server has to take a connection, or to acknowledge what it was sent."""
REST = 5.0
"""Seconds for which a server is not asked again that did not answer."""
_POSTGRESQL_PORT = 5432


def server_engine(url: str, patience: float) -> sa.Engine:
    """Return an engine for a server, which waits so many seconds for locks and for a free connection."""
    address = sa.make_url(url)
    # A server closes idle connections; the ping costs one message and spares a run a failure.
    engine = sa.create_engine(address, pool_pre_ping=True, pool_timeout=2 * patience, connect_args=_options(address))
    if engine.dialect.name != "postgresql":
        return engine
    sa.event.listen(engine, "connect", lambda connection, _: _wait_for_locks(connection, patience))
    # A socket file answers or is not there; of several hosts the driver finds one that answers.
    if address.host and not address.host.startswith("/") and "," not in address.host:
        probe = _HostProbe(address.host, address.port or _POSTGRESQL_PORT)
        sa.event.listen(engine, "do_connect", lambda *_: probe.check())
    return engine


def _options(address: sa.URL) -> dict[str, Any]:
    """Return how long the driver waits; other drivers than libpq's call that otherwise."""
    libpq = address.get_driver_name() in ("psycopg", "psycopg2")
    # In whole seconds, and two at least.
    return {"tcp_user_timeout": round(1000 * ANSWER), "connect_timeout": 2} if libpq else {}


def _wait_for_locks(connection: Any, patience: float) -> None:
    """Let the server wait no longer than that for what another connection holds."""
    with connection.cursor() as cursor:
        # 0 would be no limit.
        cursor.execute(f"SET lock_timeout = {max(1, round(1000 * patience))}")
    connection.commit()


class _HostProbe:
    """Whether a server takes connections, asked no more for a while once it did not answer."""

    def __init__(self, host: str, port: int) -> None:
        self.place, self.silent_until = (host, port), 0.0

    def check(self) -> None:
        """Raise OSError if the server takes no connection, at once if it did not answer a moment ago."""
        if time.monotonic() < self.silent_until:
            raise TimeoutError("The server timed out a moment ago.")
        try:
            socket.create_connection(self.place, timeout=ANSWER).close()
        except TimeoutError:
            self.silent_until = time.monotonic() + REST
            raise
