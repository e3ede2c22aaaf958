"""The front ends as text: timeline and line charts, which the studio's pages share, and the notebook's widget.

Whoever draws charts puts what is shared before a module of its own, and both together are one ES module without a build
step. It needs no anywidget, so that the studio reads it where none is installed.
"""

from pathlib import Path

__all__ = ["LIVE", "SHARED"]


def _text(name: str) -> str:
    return Path(__file__).with_name(name).read_text("utf-8")


SHARED = _text("timeline.js") + _text("lines.js")
LIVE = SHARED + _text("live_charts.js") + _text("live.js")
