"""How many bytes a session, and all sessions together, may have sent up: refused before they are read.

Streamlit limits one file. It takes any number of them from whoever opens a websocket, asked for by a page or not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st
from streamlit import runtime

from studio.limits import MIB, UPLOADS

__all__ = ["UploadBudget"]

PATH = "/_stcore/upload_file/"


class UploadBudget:
    """Refuse an upload that would take its session, or all sessions together, over what they may hold.

    Parameters
    ----------
    app : ASGI application
    held : callable
        Returns the bytes that each session has in memory.
    """

    def __init__(self, app: Any, held: Callable[[], Mapping[str, int]] | None = None) -> None:
        self.app = app
        self._held = held or _held
        self._coming: Counter[str] = Counter()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request, or refuse it."""
        if scope["type"] != "http" or scope["method"] != "PUT" or PATH not in scope["path"]:
            await self.app(scope, receive, send)
            return
        session, size = scope["path"].split(PATH)[1].split("/")[0], _announced(dict(scope["headers"]))
        if words := self._refusal(session, size):
            await send({"type": "http.response.start", "status": 413, "headers": [(b"content-type", b"text/plain")]})
            await send({"type": "http.response.body", "body": words.encode()})
            return
        self._coming[session] += size
        try:
            await self.app(scope, receive, send)
        finally:
            self._coming[session] -= size
            self._coming += Counter()  # forget those at zero

    def _refusal(self, session: str, size: int) -> str:
        held = Counter(self._held()) + self._coming
        for whose, bytes_held, most in (
            ("Your files", held[session], UPLOADS.session_bytes),
            ("The files of all who are here", held.total(), UPLOADS.server_bytes),
        ):
            if bytes_held + size > most:
                return f"{whose} would take {(bytes_held + size) / MIB:.0f} MB; {most / MIB:.0f} MB is the limit."
        return ""


def _announced(headers: Mapping[bytes, bytes]) -> int:
    """Return the bytes that a request says it has; as many as a file may have where it does not say."""
    said = headers.get(b"content-length", b"")
    return int(said) if said.isdigit() else st.get_option("server.maxUploadSize") * MIB


def _held() -> dict[str, int]:
    """Return the bytes of the files that Streamlit holds for each session."""
    if not runtime.exists():
        return {}
    stored = runtime.get_instance().uploaded_file_mgr.file_storage
    return {session: sum(len(file.data) for file in list(files.values())) for session, files in list(stored.items())}
