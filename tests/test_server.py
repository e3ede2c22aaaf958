"""Whom the server answers, where it starts, and what it asks of a browser."""

import os
import subprocess
import sys
import tomllib

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from studio import server
from tests.test_house import ROOT


def answered(kind, **headers):
    """Return what a request gets: "through", or the refusal that is sent."""
    sent = []

    async def app(scope, receive, send):
        sent.append("through")

    async def receive():
        return {"type": "websocket.connect"}

    async def send(message):
        sent.append(message)

    pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
    answering = server.OwnPages(app)({"type": kind, "headers": pairs}, receive, send)
    with pytest.raises(StopIteration):  # nothing in it waits, so it needs no event loop
        answering.send(None)
    return sent


@pytest.mark.parametrize("kind", ["http", "websocket"])
@pytest.mark.parametrize(
    "headers",
    [
        {"host": "localhost:8501"},
        {"host": "localhost:8501", "origin": "http://localhost:8501"},
        {"host": "LOCALHOST:8501", "origin": "http://localhost:8501"},
        {"host": "class.example.org", "origin": "https://class.example.org"},
    ],
)
def test_its_own_pages_are_answered(kind, headers):
    assert answered(kind, **headers) == ["through"]


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "http://localhost:9999", "null", "", "http://localhost:8501.evil.example", "file://"],
)
def test_pages_of_other_sites_are_refused_at_once(origin):
    refused = answered("http", host="localhost:8501", origin=origin)
    assert refused[0]["status"] == 403 and b"own pages only" in refused[1]["body"]
    closed = answered("websocket", host="localhost:8501", origin=origin)
    assert [message["type"] for message in closed] == ["websocket.close"]


def test_a_proxy_may_have_another_name(monkeypatch):
    monkeypatch.setattr(st, "get_option", lambda name: ["localhost", "class.example.org"])
    assert answered("http", host="10.0.0.5:8501", origin="https://class.example.org") == ["through"]
    assert answered("http", host="10.0.0.5:8501", origin="http://localhost:1")[0]["status"] == 403


def test_other_messages_pass():
    assert answered("lifespan") == ["through"]


@pytest.mark.parametrize(
    "address, login, environment, starts",
    [
        ("127.0.0.1", False, "", True),
        ("localhost", False, "", True),
        ("::1", False, "", True),
        ("0.0.0.0", False, "", False),  # noqa: S104 - the address under test
        (None, False, "", False),
        ("192.168.1.7", False, "", False),
        ("example.org", False, "", False),
        ("0.0.0.0", True, "", True),  # noqa: S104
        ("0.0.0.0", False, "1", True),  # noqa: S104
    ],
)
def test_an_open_address_needs_a_login(monkeypatch, address, login, environment, starts):
    monkeypatch.setattr(st, "get_option", lambda name: address)
    monkeypatch.setattr(server, "asks_for_login", lambda: login)
    monkeypatch.setenv("HETCORE_BEHIND_LOGIN", environment)
    words = server.refusal()
    assert (words == "") is starts
    if not starts:
        assert str(address or "0.0.0.0") in words and "[auth]" in words  # noqa: S104


def test_the_start_on_an_open_address_ends_in_words(tmp_path):
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", "0", "--server.headless", "true"]
    environment = os.environ | {"HETCORE_HOME": str(tmp_path)}
    done = subprocess.run(
        [*command, "--server.address", "0.0.0.0"],  # noqa: S104 - the address under test
        cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode != 0 and "Traceback" not in done.stderr
    assert "does not start on the address 0.0.0.0 without a login" in done.stdout + done.stderr


def test_no_click_waits_for_a_full_garbage_collection():
    settings = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
    assert settings["runner"]["postScriptGC"] is False and "runner.postScriptGC" in st.config._config_options_template


def test_nobody_passes_without_a_login(monkeypatch):
    for module in ("widgets", "session"):
        monkeypatch.setattr(f"studio.{module}.asks_for_login", lambda: True)
    page = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60).run()
    assert not page.exception
    assert [button.label for button in page.button] == ["Log in"]
    assert not page.dataframe and "is loaded" not in " ".join(text.value for text in page.markdown)
