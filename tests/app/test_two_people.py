"""Two people whom a proxy names, in two browsers, try each other's everything: nothing of one is the other's."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import polars as pl
import pytest
from streamlit.testing.v1 import AppTest

from studio import server
from studio.jobs import manager
from studio.runs import kept_files, restoring, store
from studio.runs.run import Run
from tests.jobs.running import PATIENCE

ROOT = Path(__file__).parents[2]
HEADER = "X-Forwarded-User"


@pytest.fixture
def proxy(monkeypatch) -> list[str]:
    """Let the studio run behind a proxy; return a list whose item is who asks now."""
    asks = [""]
    monkeypatch.setenv("HETCORE_BEHIND_LOGIN", "1")
    monkeypatch.setenv("HETCORE_LOGIN_HEADER", HEADER)
    monkeypatch.setattr(server, "request_header", lambda name: asks[0] if name == HEADER else "")
    return asks


def test_a_person_is_who_the_proxy_names_and_nobody_without_it(proxy, monkeypatch):
    people = []
    for proxy[0] in ("anna", "bert", "anna"):
        people.append(server.person())
    assert people[0] == people[2] != people[1] and "anna" not in people[0]
    proxy[0] = ""
    assert server.person() == ""
    proxy[0] = "anna"
    monkeypatch.delenv("HETCORE_BEHIND_LOGIN")
    assert server.login_header() == "" and server.person() == ""  # a header that anybody may send
    assert "HETCORE_BEHIND_LOGIN=1" in server.why_not()


def test_nobody_gets_past_where_the_proxy_names_nobody(proxy):
    page = AppTest.from_file(str(ROOT / "app.py"), default_timeout=PATIENCE).run()
    assert not page.exception and not page.button
    assert "did not say who you are" in page.error[0].value


RUN = Run("anna", "Consensus", "GBCRegressor", "planted", digest="0" * 64, name="mine")
READS = ("history", "predictions", "contributions", "additions", "staged", "rounds", "model")


@pytest.fixture
def stored():
    """Store a run of anna with all its parts, and her files."""
    runs, table = store.shared(), pl.DataFrame({"id": ["a"], "prediction": [1.0]})
    run = dataclasses.replace(RUN)
    runs.begin(run)
    runs.add(run, table, table, model=b"model", contributions=table, additions=table, staged=table, rounds=b"rounds")
    kept = kept_files.shared().keep("anna", {"sources": []}, {"films.csv": b"id\n1\n"}, RUN.digest)
    yield run.id, kept
    runs.delete("anna", run.id)
    kept_files.shared().forget("anna")


def test_nothing_that_is_stored_is_anothers(stored):
    run, kept = stored
    runs, files = store.shared(), kept_files.shared()
    assert all(getattr(runs, name)("anna", run) is not None for name in READS) and files.get("anna", kept)
    assert runs.list("bert") == [] and files.find("bert", RUN.digest) is None and files.size("bert") == 0
    for look in [lambda name=name: getattr(runs, name)("bert", run) for name in ("get", *READS)]:
        with pytest.raises(LookupError):
            look()
    with pytest.raises(LookupError):
        runs.rename("bert", run, "yours")
    with pytest.raises(LookupError):
        files.get("bert", kept)
    files.forget("bert")
    assert not runs.delete("bert", run) and not restoring.restore("bert", run)
    assert not restoring.has_data("bert", runs.get("anna", run))
    assert runs.get("anna", run).name == "mine" and files.get("anna", kept)


@pytest.mark.slow
def test_a_training_and_its_run_are_its_persons_alone(proxy):
    proxy[0] = "anna"
    mine = (
        AppTest.from_file(str(ROOT / "app.py"), default_timeout=PATIENCE)
        .run()
        .switch_page("pages/2_Consensus.py")
        .run()
    )
    mine.button(key="stepwise").click().run()
    run = mine.session_state["live Consensus"].runs["Consensus"]
    anna, bert = server.person(), None
    try:
        proxy[0] = "bert"
        bert = server.person()
        theirs = AppTest.from_file(str(ROOT / "app.py"), default_timeout=PATIENCE).run()
        theirs = theirs.switch_page("pages/2_Consensus.py")
        theirs.query_params["run"] = run
        theirs.run()
        assert not theirs.exception and run not in str(theirs.query_params.get("run", ""))
        assert "Stop training" not in {button.label for button in theirs.button}
        for look in ("status", "events", "result", "stop"):
            with pytest.raises(manager.UnknownRunError):
                getattr(manager.manager(), look)(run, owner=bert)
        for order in ("pause", "resume", "step"):
            with pytest.raises(manager.UnknownRunError):
                manager.manager().order(run, order, bert)
        assert manager.manager().status(run, anna).active and not store.shared().list(bert)
    finally:
        manager.manager().stop(run)
        manager.manager().wait(run, timeout=PATIENCE)
