"""The front ends as text: the timeline of a training, which the studio's pages share, and the notebook's widget.

Whoever draws charts puts the timeline before a module of its own, and both together are one ES module without a build
step. It needs no anywidget, so that the studio reads it where none is installed.
"""

from pathlib import Path

__all__ = ["LIVE", "TIMELINE"]


def _text(name: str) -> str:
    return Path(__file__).with_name(name).read_text("utf-8")


TIMELINE = _text("timeline.js")
LIVE = TIMELINE + _text("live_charts.js") + _text("live.js")
