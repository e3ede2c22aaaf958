"""The front end that the notebook's widget and the studio's pages share: the timeline of a training, as text.

Whoever draws charts puts it before a module of its own, and both together are one ES module without a build step. It
needs no anywidget, so that the studio reads it where none is installed.
"""

from pathlib import Path

__all__ = ["TIMELINE"]

TIMELINE = Path(__file__).with_name("timeline.js").read_text("utf-8")
