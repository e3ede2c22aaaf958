"""How many bytes a session, and all sessions together, may have sent up, and from which browser.

Streamlit limits one file. It takes any number of them from whoever opens a websocket, asked for by a page or not, and
from whoever knows the number of a session. What is refused is refused before it is read.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping
from http.cookies import CookieError, SimpleCookie
from typing import Any

import streamlit as st
from streamlit import runtime

from studio.limits import MIB, UPLOADS

__all__ = ["UploadBudget", "browser_name"]

PATH = "/_stcore/upload_file/"
COOKIE = "_streamlit_xsrf"


class UploadBudget:
    """Refuse an upload that would take its session, or all sessions together, over what they may hold.

    Parameters
    ----------
    app : ASGI application
    held : callable
        Returns the bytes that each session has in memory.
    browser : callable
        Returns the name of the browser of a session, empty where that is not known.
    """

    def __init__(
        self,
        app: Any,
        held: Callable[[], Mapping[str, int]] | None = None,
        browser: Callable[[str], str] | None = None,
    ) -> None:
        self.app = app
        self._held, self._browser = held or _held, browser or _browser
        # What is on its way counts too: many uploads at once are each within the limit, and together not.
        self._coming: Counter[str] = Counter()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request, or refuse it."""
        # Only uploads and their removal; everything else passes without being looked at.
        if scope["type"] != "http" or scope["method"] not in ("PUT", "DELETE") or PATH not in scope["path"]:
            await self.app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        session, size = scope["path"].split(PATH)[1].split("/")[0], _announced(headers)
        # A session without a browser's name can only be limited, not told from another's.
        if (whose := self._browser(session)) and whose != _sender(headers):
            await _refuse(send, 403, "These are the files of another browser.")
            return
        # Giving back is always allowed to whose files they are.
        if scope["method"] == "DELETE":
            await self.app(scope, receive, send)
            return
        if text := self._why_not(session, size):
            await _refuse(send, 413, text)
            return
        self._coming[session] += size
        # Counted down in every case, or a broken upload would hold its bytes for ever.
        try:
            await self.app(scope, receive, send)
        finally:
            self._coming[session] -= size
            self._coming += Counter()  # forget those at zero

    def _why_not(self, session: str, size: int) -> str:
        held = Counter(self._held()) + self._coming
        for whose, bytes_held, most in (
            ("Your files", held[session], UPLOADS.session_bytes),
            ("The files of all who are here", held.total(), UPLOADS.server_bytes),
        ):
            if bytes_held + size > most:
                return f"{whose} would take {(bytes_held + size) / MIB:.0f} MB; {most / MIB:.0f} MB is the limit."
        return ""


async def _refuse(send: Any, status: int, text: str) -> None:
    await send({"type": "http.response.start", "status": status, "headers": [(b"content-type", b"text/plain")]})
    await send({"type": "http.response.body", "body": text.encode()})


def browser_name(cookie: str) -> str:
    """Return a name of a browser that is the same for all forms of its token: 2|mask|masked token|time."""
    parts = cookie.split("|")
    if len(parts) == 4:
        try:
            mask, masked = bytes.fromhex(parts[1]), bytes.fromhex(parts[2])
            cookie = bytes(b ^ mask[i % len(mask)] for i, b in enumerate(masked)).hex()
        except (ValueError, ZeroDivisionError):
            pass
    return hashlib.sha256(f"hetcore owner {cookie}".encode()).hexdigest()


def _sender(headers: Mapping[bytes, bytes]) -> str:
    """Return the name of the browser that sends a request, empty if it says none."""
    try:
        cookies = SimpleCookie(headers.get(b"cookie", b"").decode("latin-1"))
    except CookieError:
        return ""
    return browser_name(cookies[COOKIE].value) if COOKIE in cookies else ""


def _browser(session: str) -> str:
    """Return the name of the browser whose websocket opened a session; empty if it had no cookie, or is gone."""
    client = runtime.get_instance().get_client(session) if runtime.exists() else None
    context = getattr(client, "client_context", None)
    cookie = context.cookies.get(COOKIE, "") if context is not None else ""
    return browser_name(cookie) if cookie else ""


def _announced(headers: Mapping[bytes, bytes]) -> int:
    """Return the bytes that a request says it has; as many as a file may have where it does not say."""
    length = headers.get(b"content-length", b"")
    return int(length) if length.isdigit() else st.get_option("server.maxUploadSize") * MIB


def _held() -> dict[str, int]:
    """Return the bytes of the files that Streamlit holds for each session."""
    if not runtime.exists():
        return {}
    manager: Any = runtime.get_instance().uploaded_file_mgr
    stored = list(manager.file_storage.items())
    return {session: sum(len(file.data) for file in list(files.values())) for session, files in stored}
