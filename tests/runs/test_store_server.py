"""A store on a PostgreSQL server that dies, comes back, does not answer or lost its tables: a sentence, no wait."""

from __future__ import annotations

import contextlib
import socket

import pytest

from studio.runs import server_engine
from studio.runs.store import RunStore
from tests.runs import postgres
from tests.runs.store_faults import a_run

SILENT = "The database of runs {} (the server does not answer): new runs are kept in memory until the studio ends."


@contextlib.contextmanager
def full_queue():
    """Yield the port of a server whose queue is full: like a host that is gone, it leaves who knocks without a word."""
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(socket.socket())
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        for _ in range(4):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(server.getsockname())
        yield server.getsockname()[1]


def test_a_server_that_does_not_answer_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(server_engine, "ANSWER", 0.05)
    with full_queue() as port:
        store = RunStore(f"postgresql+psycopg://anna:secret@127.0.0.1:{port}/runs")
        assert store.warning == SILENT.format("cannot be opened")
        run_id = store.add(a_run())
        assert [run.id for run in store.list("anna")] == [run_id]
    store.close()


def test_after_a_server_did_not_answer_it_is_not_asked_for_a_while(monkeypatch):
    asked = []

    def connect(place, timeout):
        asked.append(timeout)
        raise TimeoutError("timed out")

    monkeypatch.setattr(socket, "create_connection", connect)
    for rest, times in ((server_engine.REST, 1), (0.0, 5)):
        monkeypatch.setattr(server_engine, "REST", rest)
        engine = server_engine.server_engine("postgresql+psycopg://anna@db.example/runs", 0.5)
        for _ in range(5):
            with pytest.raises(TimeoutError), engine.connect():
                pass
        assert asked == [server_engine.ANSWER] * times and server_engine.ANSWER <= 0.5
        asked.clear()


@pytest.mark.slow
def test_runs_wait_in_memory_while_the_server_is_gone_and_move_when_it_is_back(server):
    with postgres.cluster() as (address, control):
        store = RunStore(f"{address}/postgres")
        before = store.add(a_run(), model=b"m")
        control("stop")
        after = store.add(a_run(), model=b"n")
        assert store.warning.startswith(SILENT.format("does not work"))
        assert "1 run would be lost" in store.warning
        assert [run.id for run in store.list("anna")] == [after]
        control("start")
        assert {run.id for run in store.list("anna")} == {before, after} and store.warning == ""
        assert [store.model("anna", run_id) for run_id in (before, after)] == [b"m", b"n"]
        assert store._memory.count() == 0
        store.close()


@pytest.mark.parametrize("lose", ["DROP TABLE blobs", "UPDATE meta SET value = 'x'"])
@pytest.mark.parametrize("address", ["postgresql"], indirect=True)
def test_tables_of_a_server_that_are_not_whole_are_reported_and_left_alone(anywhere, change, lose):
    store = anywhere()
    kept = store.add(a_run())
    store.close()
    change(lose)
    again = anywhere()
    assert again.warning.startswith("The database of runs lacks some of its tables, or they are not the studio's: new")
    run_id = again.add(a_run())
    assert [run.id for run in again.list("anna")] == [run_id] != [kept]
