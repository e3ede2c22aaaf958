"""Figures as SVG or PNG, drawn by a browser in a process of its own; optional: kaleido and a Chromium must be there.

python -m studio.runs.rendering svg < figure.json > figure.svg
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from typing import Any

from hetcore.errors import DataError
from studio.jobs.worker import child_environment

__all__ = ["KINDS", "image", "missing"]

KINDS = {"svg": "image/svg+xml", "png": "image/png"}
"""MIME types by ending."""
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
SIZE = {"width": 960, "height": 540}
SECONDS = 90


def missing() -> str:
    """Return what to install for SVG and PNG, empty where both are there."""
    if importlib.util.find_spec("kaleido") is None:
        return "For SVG and PNG: pip install kaleido."
    if _browser() is None:
        return "For SVG and PNG install Chromium or Chrome, or name one in BROWSER_PATH."
    return ""


def _browser() -> str | None:
    """Return a browser that can draw."""
    asked = os.environ.get("BROWSER_PATH")
    return asked if asked and os.access(asked, os.X_OK) else next(filter(None, map(shutil.which, BROWSERS)), None)


def image(figure: Any, kind: str = "svg") -> bytes:
    """Return a Plotly figure (or its dict) as an image.

    Parameters
    ----------
    figure : plotly figure or dict
    kind : {"svg", "png"}, default="svg"

    Raises
    ------
    DataError
        If the renderer is missing, or does not answer.
    """
    import plotly.io

    if reason := missing():
        raise DataError(reason)
    given = plotly.io.to_json(figure, validate=False).encode()
    # A process of its own, for a browser that hangs can then be ended without the studio.
    command = [sys.executable, "-P", "-m", "studio.runs.rendering", kind]
    environment = child_environment() | {"BROWSER_PATH": _browser() or ""}
    try:
        done = subprocess.run(command, input=given, capture_output=True, timeout=SECONDS, env=environment)  # noqa: S603
    except subprocess.TimeoutExpired:
        raise DataError(f"The browser did not draw the figure in {SECONDS} s: try again, or take HTML.") from None
    # A browser that dies can leave nothing and still report success.
    if done.returncode or not done.stdout:
        raise DataError("The browser could not draw the figure: take HTML.")
    return done.stdout


def _drawn(given: bytes, kind: str) -> bytes:
    """Return the image; the page that draws it loads Plotly from its package and nothing from outside."""
    from pathlib import Path

    import kaleido
    import plotly
    import plotly.io

    # What this Plotly does not know is left out, rather than the whole figure refused.
    figure = plotly.io.from_json(given.decode(), skip_invalid=True)
    # From the package: the default page would fetch Plotly from a server.
    script = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
    page = kaleido.PageGenerator(plotly=str(script), mathjax=False)
    # Pixels are doubled for screens of high density; SVG has none.
    scale = {"scale": 2} if kind == "png" else {}
    return kaleido.calc_fig_sync(figure, opts={"format": kind, **SIZE, **scale}, kopts={"page_generator": page})


if __name__ == "__main__":
    sys.stdout.buffer.write(_drawn(sys.stdin.buffer.read(), sys.argv[1]))
