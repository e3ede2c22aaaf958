"""A real PostgreSQL server for the tests, where its programs are installed: started once, ended with the run."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

__all__ = ["cluster", "programs"]

USER = "postgres"


def programs() -> Path | None:
    """Return the folder of initdb and postgres, None where they are not installed."""
    homes = [
        *sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True),
        Path(shutil.which("initdb") or "").parent,
    ]
    return next((home for home in homes if (home / "initdb").exists() and (home / "postgres").exists()), None)


def _account() -> dict[str, object]:
    """Return the account that the server runs as: it refuses to be root's."""
    if os.geteuid() != 0:
        return {}
    entry = pwd.getpwnam(USER)
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def cluster() -> Iterator[tuple[str, Callable[[str], None]]]:
    """Run a server; yield its address for SQLAlchemy, without a database's name, and what starts and stops it."""
    home, account = programs(), _account()
    folder = Path(tempfile.mkdtemp(prefix="hetcore-pg-"))
    if account:
        os.chown(folder, account["user"], account["group"])
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder, **account}
    data, port = folder / "data", _free_port()
    try:
        subprocess.run(  # noqa: S603 - PostgreSQL's own program
            [home / "initdb", "-D", data, "-U", USER, "-A", "trust", "--no-sync", "-E", "UTF8"], check=True, **quiet
        )
        options = f"-p {port} -k '' -c listen_addresses=127.0.0.1 -c fsync=off"
        how = {"start": ["-o", options, "-l", folder / "log"], "stop": ["-m", "immediate"]}

        def control(word: str) -> None:
            subprocess.run([home / "pg_ctl", "-D", data, "-w", *how[word], word], check=True, **quiet)  # noqa: S603

        control("start")
        try:
            yield f"postgresql+psycopg://{USER}@127.0.0.1:{port}", control
        finally:
            with contextlib.suppress(subprocess.CalledProcessError):  # a test has stopped it
                control("stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
