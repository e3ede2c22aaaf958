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
    budget, sent = answered({}, UPLOADS.session_bytes, inside=lambda b: meanwhile.append(b._refusal("anna", MIB)))
    assert sent == ["through"] and meanwhile == ["Your files would take 201 MB; 200 MB is the limit."]
    assert budget._refusal("anna", MIB) == "" and not budget._coming


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
