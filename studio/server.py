"""What the studio's server adds to Streamlit's: the installed Plotly for the live charts, and security headers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import plotly
from starlette.middleware import Middleware
from starlette.responses import FileResponse
from starlette.routing import Route

__all__ = ["MIDDLEWARE", "PLOTLY_ADDRESS", "ROUTES"]

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
    path = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
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


ROUTES = [Route(PLOTLY_ADDRESS, _plotly)]
MIDDLEWARE = [Middleware(SecurityHeaders)]
