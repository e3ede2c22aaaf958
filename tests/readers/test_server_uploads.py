"""What a session may send up, and all together: refused before a byte is read."""

from types import SimpleNamespace

import pytest
from streamlit.runtime import Runtime
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.uploaded_file_manager import UploadedFileRec

from studio import server_uploads
from studio.limits import MIB, UPLOADS


def answered(held, *sizes, session="anna", path="/_stcore/upload_file/{}/file1", method="PUT", inside=None):
    """Return what a request is answered: "through", or status and words."""
    sent = []

    async def app(scope, receive, send):
        sent.append("through")
        if inside:
            inside(budget)

    async def send(message):
        sent.append(message)

    budget = server_uploads.UploadBudget(app, lambda: held)
    headers = [(b"content-length", str(size).encode()) for size in sizes]
    scope = {"type": "http", "method": method, "path": path.format(session), "headers": headers}
    with pytest.raises(StopIteration):
        budget(scope, None, send).send(None)
    return budget, sent


MASKED = ["2|00ff|a1a2|1", "2|ffff|5ea2|9", "2|1234|b369|5"]
"""Forms of one token, a15d, under three masks."""


def from_browser(cookie, session="2|0000|a15d|1", method="PUT"):
    """Return what an upload with a cookie is answered in the session of a browser with another form of it."""
    sent = []

    async def app(scope, receive, send):
        sent.append("through")

    async def send(message):
        sent.append(message)

    whose = server_uploads.browser_name(session) if session else ""
    budget = server_uploads.UploadBudget(app, dict, lambda _: whose)
    headers = [(b"cookie", f"a=1; _streamlit_xsrf={cookie}".encode())] if cookie else []
    scope = {"type": "http", "method": method, "path": "/_stcore/upload_file/anna/f", "headers": headers}
    with pytest.raises(StopIteration):
        budget(scope, None, send).send(None)
    return sent[0] if sent[0] == "through" else sent[0]["status"]


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_only_the_browser_of_a_session_touches_its_files(method):
    assert [from_browser(cookie, method=method) for cookie in MASKED] == ["through"] * 3
    assert [from_browser(cookie, method=method) for cookie in ("2|0000|a15e|1", "x", "")] == [403] * 3
    assert from_browser("", session="", method=method) == "through"  # a session that had no cookie


def test_the_browser_of_a_session_is_known_from_its_websocket(monkeypatch):
    context = SimpleNamespace(cookies={"_streamlit_xsrf": MASKED[0]})
    studio = SimpleNamespace(get_client=lambda s: SimpleNamespace(client_context=context) if s == "anna" else None)
    monkeypatch.setattr(server_uploads.runtime, "exists", lambda: True)
    monkeypatch.setattr(server_uploads.runtime, "get_instance", lambda: studio)
    assert server_uploads._browser("anna") == server_uploads.browser_name(MASKED[1]) != ""
    assert server_uploads._browser("bert") == ""
    assert callable(Runtime.get_client)


def refused(held, *sizes, **more):
    sent = answered(held, *sizes, **more)[1]
    return sent[1]["body"].decode() if sent[0] != "through" and sent[0]["status"] == 413 else ""


def test_files_within_the_limits_pass():
    assert refused({}, 50 * MIB) == ""
    assert refused({"anna": UPLOADS.session_bytes - 50 * MIB}, 50 * MIB) == ""
    assert refused({"bert": UPLOADS.session_bytes}, 50 * MIB) == ""


def test_a_session_is_refused_what_takes_it_over_its_limit():
    words = refused({"anna": UPLOADS.session_bytes - 50 * MIB}, 50 * MIB + 1)
    assert words == "Your files would take 200 MB; 200 MB is the limit."


def test_all_sessions_together_have_a_limit():
    many = {f"pupil {k}": 100 * MIB for k in range(UPLOADS.server_bytes // (100 * MIB) + 1)}
    assert refused(many, MIB).startswith("The files of all who are here would take")


def test_a_request_that_does_not_say_its_size_counts_as_the_largest():
    assert refused({"anna": UPLOADS.session_bytes - 49 * MIB}).startswith("Your files would take 201 MB")


def test_uploads_on_their_way_count():
    meanwhile = []
    budget, sent = answered({}, UPLOADS.session_bytes, inside=lambda b: meanwhile.append(b._why_not("anna", MIB)))
    assert sent == ["through"] and meanwhile == ["Your files would take 201 MB; 200 MB is the limit."]
    assert budget._why_not("anna", MIB) == "" and not budget._coming


def test_what_is_no_upload_passes():
    full = {"anna": UPLOADS.session_bytes}
    assert refused(full, 50 * MIB, method="DELETE") == "" and refused(full, 50 * MIB, path="/other/{}") == ""


def test_streamlit_keeps_its_files_where_they_are_counted(monkeypatch):
    manager = MemoryUploadedFileManager("/upload")
    manager.add_file("anna", UploadedFileRec("file1", "a.csv", "text/csv", b"abc"))
    monkeypatch.setattr(server_uploads.runtime, "exists", lambda: True)
    monkeypatch.setattr(server_uploads.runtime, "get_instance", lambda: SimpleNamespace(uploaded_file_mgr=manager))
    assert server_uploads._held() == {"anna": 3}
    assert isinstance(Runtime.uploaded_file_mgr, property)
