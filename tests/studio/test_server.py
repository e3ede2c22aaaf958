"""Whom the server answers, where it starts, and what it asks of a browser."""

import os
import subprocess
import sys
import tomllib

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from studio import server
from studio.limits import MIB
from tests.house.test_house import ROOT
from tests.jobs.running import PATIENCE

AUTH = {
    "redirect_uri": "https://class.example.org/oauth2callback",
    "cookie_secret": "x" * 32,
    "client_id": "studio",
    "client_secret": "secret",
    "server_metadata_url": "https://accounts.example.org/.well-known/openid-configuration",
}


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
        {"host": "127.0.0.1:8501"},
        {"host": "[::1]:8501"},
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
    assert answered("http", host="class.example.org", origin="https://class.example.org") == ["through"]
    assert answered("http", host="localhost:8501", origin="https://class.example.org") == ["through"]
    assert answered("http", host="localhost:8501", origin="http://localhost:1")[0]["status"] == 403


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example:8501", "10.0.0.5", "", "["])
@pytest.mark.parametrize("kind", ["http", "websocket"])
def test_a_name_that_somebody_else_pointed_here_is_not_answered(kind, host):
    sent = answered(kind, host=host)
    assert sent[0].get("status") == 403 or sent[0]["type"] == "websocket.close"


def test_names_of_a_domain_and_all_names_can_be_allowed(monkeypatch):
    monkeypatch.setattr(st, "get_option", lambda name: ["*.example.org"])
    assert answered("http", host="a.example.org") == ["through"] != answered("http", host="example.org")
    for everything in (["*"], []):
        monkeypatch.setattr(st, "get_option", lambda name, hosts=everything: hosts)
        assert answered("http", host="anything") == ["through"]


@pytest.mark.parametrize("parts, most", [(1, 1), (3, 3), (1_000, 51)], ids=["small", "in parts", "beyond the limit"])
def test_a_refused_upload_is_read_before_the_answer(monkeypatch, parts, most):
    monkeypatch.setattr(st, "get_option", lambda name: 50)
    messages, left = [], [parts]

    async def refuse(scope, receive, send):
        await send({"type": "http.response.start", "status": 413, "headers": []})
        await send({"type": "http.response.body", "body": b"too much"})

    async def receive():
        left[0] -= 1
        messages.append("part")
        return {"type": "http.request", "body": bytes(MIB), "more_body": left[0] > 0}

    async def send(message):
        messages.append(message["type"])

    answering = server.WholeUploads(refuse)({"type": "http", "method": "PUT"}, receive, send)
    with pytest.raises(StopIteration):
        answering.send(None)
    assert messages == ["part"] * most + ["http.response.start", "http.response.body"]


def test_an_upload_that_is_read_or_breaks_off_is_left_alone():
    messages = []
    coming = [{"type": "http.request", "body": b"x", "more_body": True}, {"type": "http.disconnect"}]

    async def read(scope, receive, send):
        while (await receive())["type"] != "http.disconnect":
            messages.append("read")
        await send({"type": "http.response.start", "status": 400, "headers": []})

    async def receive():
        return coming.pop(0)

    async def send(message):
        messages.append(message["status"])

    answering = server.WholeUploads(read)({"type": "http", "method": "PUT"}, receive, send)
    with pytest.raises(StopIteration):
        answering.send(None)
    assert messages == ["read", 400] and coming == []


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
    monkeypatch.setattr(server, "needs_login", lambda: login)
    monkeypatch.setattr(st, "secrets", {"auth": AUTH})
    monkeypatch.setenv("HETCORE_BEHIND_LOGIN", environment)
    words = server.why_not()
    assert (words == "") is starts
    if not starts:
        assert str(address or "0.0.0.0") in words and "[auth]" in words  # noqa: S104


def refused(tmp_path, *options):
    """Return what a studio says that does not start."""
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", "0", "--server.headless", "true"]
    # Streamlit asks another host what its address is where it is to listen on all and is not told a name.
    options = [*options, "--browser.serverAddress", "127.0.0.1"]
    environment = os.environ | {"HETCORE_HOME": str(tmp_path)}
    done = subprocess.run([*command, *options], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode != 0 and "Traceback" not in done.stderr
    return done.stdout + done.stderr


@pytest.mark.slow
def test_the_start_on_an_open_address_ends_in_words(tmp_path):
    answer = refused(tmp_path, "--server.address", "0.0.0.0")  # noqa: S104 - the address under test
    assert "does not start on the address 0.0.0.0 without a login" in answer


@pytest.mark.slow
@pytest.mark.parametrize(
    "content", ["[auth\nredirect_uri = 1", "\xff\xfe", None], ids=["not TOML", "not text", "a folder"]
)
def test_secrets_that_cannot_be_read_do_not_open_the_studio(tmp_path, content):
    path = tmp_path / "secrets.toml"
    path.mkdir() if content is None else path.write_bytes(content.encode("latin-1"))
    answer = refused(tmp_path, "--secrets.files", str(path))
    assert "does not start while its secrets cannot be read" in answer


@pytest.mark.parametrize(
    "auth, words",
    [
        *[({key: value for key, value in AUTH.items() if key != name}, f"lacks {name} ") for name in AUTH],
        ({"google": AUTH}, "lacks redirect_uri, cookie_secret, client_id"),
        ({}, "lacks redirect_uri"),
        ("yes", "lacks redirect_uri"),
        (AUTH | {"cookie_secret": "a long random text"}, "cookie_secret of fewer than 32 characters"),
        (AUTH | {"redirect_uri": "https://class.example.org/"}, "redirect_uri must be its address and /oauth2callback"),
    ],
)
@pytest.mark.parametrize("address", ["127.0.0.1", "0.0.0.0"])  # noqa: S104
def test_a_login_that_cannot_work_stops_the_start(monkeypatch, auth, words, address):
    monkeypatch.setattr(st, "get_option", lambda name: address)
    monkeypatch.setattr(st, "secrets", {"auth": auth})
    assert words in server.why_not()


def test_a_login_needs_authlib(monkeypatch):
    monkeypatch.setattr(st, "secrets", {"auth": AUTH})
    assert server.why_not() == ""
    monkeypatch.setattr(server, "find_spec", lambda name: None)
    assert "pip install -r requirements.txt" in server.why_not()


@pytest.mark.parametrize(
    "user, known",
    [
        ({"is_logged_in": True, "iss": "a", "sub": "1"}, True),
        ({"is_logged_in": False, "iss": "a", "sub": "1"}, False),
        ({"is_logged_in": True, "iss": "a", "sub": ""}, False),
        ({"is_logged_in": True, "iss": "a", "email": "b@example.org"}, False),
        ({"email": "b@example.org"}, False),
        ({}, False),
    ],
)
def test_nobody_is_a_person_without_a_subject(monkeypatch, user, known):
    monkeypatch.setattr(st, "user", user)
    assert bool(server.person()) is known


def test_people_of_two_providers_are_different(monkeypatch):
    people = set()
    for issuer in ("a", "b"):
        monkeypatch.setattr(st, "user", {"is_logged_in": True, "iss": issuer, "sub": "1"})
        people |= {server.person(), server.person()}
    assert len(people) == 2


def test_no_click_waits_for_a_full_garbage_collection():
    settings = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
    assert settings["runner"]["postScriptGC"] is False and "runner.postScriptGC" in st.config._config_options_template


def test_no_message_is_left_to_the_memory_of_a_browser_that_may_have_forgotten_it():
    settings = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
    assert settings["global"]["minCachedMessageSize"] > 1e9
    assert "global.minCachedMessageSize" in st.config._config_options_template


def test_nobody_passes_without_a_login(monkeypatch):
    for module in ("views.common.widgets", "session"):
        monkeypatch.setattr(f"studio.{module}.needs_login", lambda: True)
    page = AppTest.from_file(str(ROOT / "app.py"), default_timeout=PATIENCE).run()
    assert not page.exception
    assert [button.label for button in page.button] == ["Log in"]
    assert not page.dataframe and "is loaded" not in " ".join(text.value for text in page.markdown)


@pytest.mark.slow
def test_a_server_begins_without_what_its_first_page_does_not_need():
    heavy = ["numba", "sklearn", "pandas", "scipy.stats", "scipy.ndimage", "scipy.sparse", "pyarrow"]
    # Each takes some tenths of a second: after a fault people wait for it.
    code = f"import sys, app; print([name for name in {heavy} if name in sys.modules])"
    printed = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert printed.strip() == "[]"
