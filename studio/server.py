"""What the studio's server adds to Streamlit's: the installed Plotly, security headers, and whom it answers.

It listens on this machine only. On another address it starts only where people log in: `[auth]` in
.streamlit/secrets.toml (docs/server.md), or a proxy in front that asks for it, told by HETCORE_BEHIND_LOGIN=1. With
secrets that cannot be read, or a login that nobody can pass, it does not start at all: a proxy may let everybody in.
"""

from __future__ import annotations

import hashlib
import ipaddress
import os
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import streamlit as st
from starlette.middleware import Middleware
from starlette.responses import FileResponse
from starlette.routing import Route

from studio.limits import MIB
from studio.server_uploads import UploadBudget

__all__ = ["MIDDLEWARE", "PLOTLY_ADDRESS", "ROUTES", "login_header", "needs_login", "person", "why_not"]

PLOTLY_ADDRESS = "/studio-assets/plotly.min.js"
POLICY = (
    # Streamlit starts its scripts inline and needs eval for its charts; nothing may come from outside.
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self' ws: wss:; worker-src 'self' blob:; "
    "object-src 'none'; base-uri 'self'; frame-ancestors 'none'"
)
LOGIN = ("redirect_uri", "cookie_secret", "client_id", "client_secret", "server_metadata_url")
"""What [auth] must have."""
CALLBACK = "/oauth2callback"
"""Where Streamlit awaits people who come back from the provider."""
SHORTEST_SECRET = 32
"""Characters of a cookie_secret that nobody guesses; who does can log in as anybody."""
HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
)


async def _plotly(request: Any) -> FileResponse:
    path = Path(find_spec("plotly").origin).parent / "package_data" / "plotly.min.js"
    # Kept for a day by the browser: the file is large and changes with the installed version only.
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

        # A websocket has no headers to add after its handshake.
        await self.app(scope, receive, with_headers if scope["type"] == "http" else send)


class OwnPages:
    """Answer the studio's own pages and no page of another site, before anything else looks at what it asks."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request, or refuse it."""
        headers = dict(scope["headers"]) if scope["type"] in ("http", "websocket") else {}
        # Both: the host guards against a name that was made to point here, the origin against other sites' pages.
        if scope["type"] not in ("http", "websocket") or (_is_known_host(headers) and _is_own(headers)):
            await self.app(scope, receive, send)
        elif scope["type"] == "websocket":
            # A websocket is refused by closing it, which is allowed only after its request was taken.
            await receive()
            await send({"type": "websocket.close", "code": 1008, "reason": "another site"})
        else:
            await send({"type": "http.response.start", "status": 403, "headers": [(b"content-type", b"text/plain")]})
            await send({"type": "http.response.body", "body": b"This studio answers its own pages only."})


class WholeUploads:
    """Answer a refused upload when all of it has come, and keep none of it.

    Whoever still sends when the answer comes and the connection closes does not read it: a proxy says 502 instead, and
    a browser that the network failed.
    """

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request."""
        if scope["type"] != "http" or scope["method"] != "PUT":
            await self.app(scope, receive, send)
            return
        # A little more than the limit is still read, so that the browser gets the answer and no broken connection.
        more, left = True, (st.get_option("server.maxUploadSize") + 1) * MIB

        async def counted() -> Any:
            nonlocal more, left
            message = await receive()
            more = message["type"] == "http.request" and message.get("more_body", False)
            left -= len(message.get("body", b""))
            return message

        async def afterwards(message: Any) -> None:
            # Most browsers read no answer before they have sent everything.
            while message["type"] == "http.response.start" and more and left > 0:
                await counted()
            await send(message)

        await self.app(scope, counted, afterwards)


def _is_known_host(headers: dict[bytes, bytes]) -> bool:
    """Whether a request is for a name in server.allowedHosts: a page that had its own name point here asks for that."""
    allowed = [host.strip().lower().strip("[]").rstrip(".") for host in st.get_option("server.allowedHosts") or ()]
    try:
        host = urlsplit(f"//{headers.get(b'host', b'').decode('latin-1')}").hostname or ""
    except ValueError:
        return False
    wild = [name[1:] for name in allowed if name.startswith("*.")]
    # An empty list means every host.
    return not allowed or "*" in allowed or host.rstrip(".") in allowed or host.rstrip(".").endswith(tuple(wild))


def _is_own(headers: dict[bytes, bytes]) -> bool:
    """Whether a request comes from a page of this server, or from no page."""
    # Programs and the address bar send no origin; a page of another site cannot leave it out.
    if b"origin" not in headers:
        return True
    origin = urlsplit(headers[b"origin"].decode("latin-1"))
    host = headers.get(b"host", b"").decode("latin-1").lower()
    return bool(origin.netloc) and (origin.netloc.lower() == host or origin.hostname in _allowed_hosts())


def _allowed_hosts() -> list[str]:
    # A loopback name would let in what other programs of this machine serve.
    """Return the names that the configuration adds for a proxy; not those of this machine, which have a port."""
    return [host for host in st.get_option("server.allowedHosts") or () if not _is_loopback(host)]


def _is_loopback(address: str) -> bool:
    if address == "localhost":
        return True
    try:
        return ipaddress.ip_address(address.strip("[]")).is_loopback
    except ValueError:
        return False


def needs_login() -> bool:
    """Whether people log in here: the secrets have a section [auth], or are there and cannot be read."""
    try:
        return "auth" in st.secrets
    except FileNotFoundError:  # Streamlit's also for a file that is not TOML
        return any(os.path.lexists(path) for path in st.get_option("secrets.files"))
    except (OSError, ValueError):
        return True


def login_header() -> str:
    """Return the name of the header in which a proxy says who has logged in, empty where none is trusted."""
    # Never beside Streamlit's own login: two sources of who somebody is would contradict each other.
    trusted = os.environ.get("HETCORE_BEHIND_LOGIN") == "1" and not needs_login()
    return os.environ.get("HETCORE_LOGIN_HEADER", "") if trusted else ""


def request_header(name: str) -> str:
    """Return a header of the page's request, empty where it has none."""
    return st.context.headers.get(name) or ""


def person() -> str:
    """Return a name made from who has logged in, empty if nobody has."""
    if header := login_header():
        named = request_header(header)
        # Hashed, for the name is a key in the store and stands in folders; with a word of our own, so that no two kinds
        # meet.
        return hashlib.sha256(f"hetcore person {named}".encode()).hexdigest() if named else ""
    if not st.user.get("is_logged_in") or not st.user.get("sub"):
        return ""
    return hashlib.sha256(f"hetcore user {st.user.get('iss', '')} {st.user['sub']}".encode()).hexdigest()


def login_name() -> str:
    """Return the name under which somebody has logged in, as the proxy or the identity provider has it; else empty."""
    if header := login_header():
        return request_header(header)
    # The subject and not the address: nobody can choose another's.
    return str(st.user.get("sub") or "") if st.user.get("is_logged_in") else ""


def why_not() -> str:
    """Return why the studio must not start, empty if it may."""
    if needs_login():
        return _login_failure()
    if os.environ.get("HETCORE_LOGIN_HEADER") and not login_header():
        return "The studio does not start: HETCORE_LOGIN_HEADER is a proxy's, set HETCORE_BEHIND_LOGIN=1 with it."
    address = st.get_option("server.address") or "0.0.0.0"  # noqa: S104 - what Streamlit takes then
    if _is_loopback(address) or os.environ.get("HETCORE_BEHIND_LOGIN") == "1":
        return ""
    return (
        f"The studio does not start on the address {address} without a login: set up [auth] in .streamlit/secrets.toml "
        "(docs/server.md), or start it on 127.0.0.1."
    )


def _login_failure() -> str:
    """Return why nobody could log in, or anybody could, empty if neither is so."""
    try:
        auth = st.secrets["auth"]
    except (OSError, ValueError) as error:
        return f"The studio does not start while its secrets cannot be read: {error}"
    if not isinstance(auth, Mapping) or (missing := [name for name in LOGIN if not auth.get(name)]):
        lacking = ", ".join(missing if isinstance(auth, Mapping) else LOGIN)
        return f"The studio does not start: [auth] in .streamlit/secrets.toml lacks {lacking} (docs/server.md)."
    if len(auth["cookie_secret"]) < SHORTEST_SECRET:
        return (
            f"The studio does not start with a cookie_secret of fewer than {SHORTEST_SECRET} characters: "
            "who guesses it is anybody (docs/server.md)."
        )
    if not urlsplit(auth["redirect_uri"]).path.endswith(CALLBACK):
        return f"The studio does not start: redirect_uri must be its address and {CALLBACK} (docs/server.md)."
    if find_spec("authlib") is None or find_spec("httpx") is None:
        return "The studio does not start: the login needs Authlib, pip install -r requirements.txt."
    return ""


ROUTES = [Route(PLOTLY_ADDRESS, _plotly)]
# In this order: strangers are refused before an upload is looked at, and a refused upload is read to its end.
MIDDLEWARE = [Middleware(each) for each in (OwnPages, WholeUploads, UploadBudget, SecurityHeaders)]
