"""What the studio's server adds to Streamlit's: the installed Plotly, security headers, and whom it answers.

It listens on this machine only. On another address it starts only where people log in: `[auth]` in
.streamlit/secrets.toml (docs/studio.md), or a proxy in front that asks for it, told by HETCORE_BEHIND_LOGIN=1.
"""

from __future__ import annotations

import ipaddress
import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import streamlit as st
from starlette.middleware import Middleware
from starlette.responses import FileResponse
from starlette.routing import Route

from studio.server_uploads import UploadBudget

__all__ = ["MIDDLEWARE", "PLOTLY_ADDRESS", "ROUTES", "asks_for_login", "refusal"]

PLOTLY_ADDRESS = "/studio-assets/plotly.min.js"
POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self' ws: wss:; worker-src 'self' blob:; "
    "object-src 'none'; base-uri 'self'; frame-ancestors 'none'"
)
HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
)


async def _plotly(request: Any) -> FileResponse:
    path = Path(find_spec("plotly").origin).parent / "package_data" / "plotly.min.js"
    return FileResponse(path, media_type="text/javascript", headers={"cache-control": "public, max-age=86400"})


class SecurityHeaders:
    """Let a page load and ask nothing but this server, whatever is written in a table's cells."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request."""

        async def with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *HEADERS]
            await send(message)

        await self.app(scope, receive, with_headers if scope["type"] == "http" else send)


class OwnPages:
    """Answer the studio's own pages and no page of another site, before anything else looks at what it asks."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request, or refuse it."""
        if scope["type"] not in ("http", "websocket") or _is_own(dict(scope["headers"])):
            await self.app(scope, receive, send)
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008, "reason": "another site"})
        else:
            await send({"type": "http.response.start", "status": 403, "headers": [(b"content-type", b"text/plain")]})
            await send({"type": "http.response.body", "body": b"This studio answers its own pages only."})


def _is_own(headers: dict[bytes, bytes]) -> bool:
    """Whether a request comes from a page of this server, or from no page."""
    if b"origin" not in headers:
        return True
    origin = urlsplit(headers[b"origin"].decode("latin-1"))
    host = headers.get(b"host", b"").decode("latin-1").lower()
    return bool(origin.netloc) and (origin.netloc.lower() == host or origin.hostname in _allowed_hosts())


def _allowed_hosts() -> list[str]:
    """Return the names that the configuration adds for a proxy; not those of this machine, which have a port."""
    return [host for host in st.get_option("server.allowedHosts") or () if not _is_loopback(host)]


def _is_loopback(address: str) -> bool:
    if address == "localhost":
        return True
    try:
        return ipaddress.ip_address(address.strip("[]")).is_loopback
    except ValueError:
        return False


def asks_for_login() -> bool:
    """Whether people log in here: the secrets have a section [auth]."""
    try:
        return "auth" in st.secrets
    except FileNotFoundError:
        return False


def refusal() -> str:
    """Return why the studio must not start on its address, empty if it may."""
    address = st.get_option("server.address") or "0.0.0.0"  # noqa: S104 - what Streamlit takes then
    if _is_loopback(address) or asks_for_login() or os.environ.get("HETCORE_BEHIND_LOGIN") == "1":
        return ""
    return (
        f"The studio does not start on the address {address} without a login: set up [auth] in .streamlit/secrets.toml "
        "(docs/studio.md), or start it on 127.0.0.1."
    )


ROUTES = [Route(PLOTLY_ADDRESS, _plotly)]
MIDDLEWARE = [Middleware(OwnPages), Middleware(UploadBudget), Middleware(SecurityHeaders)]
