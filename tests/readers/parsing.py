"""A reader called without its sandbox."""

from __future__ import annotations

from studio.readers import parsing
from studio.readers.parsed import from_stream


def table(content, name="a.csv", **options):
    """Return the words and the frame of a table."""
    words, blocks = parsing.parse(name, "table", options, content)
    return words, from_stream(blocks[0])


def graph(content, name="g.csv", **options):
    """Return the words and the frames of a graph."""
    words, blocks = parsing.parse(name, "graph", options, content)
    return words, [from_stream(block) for block in blocks]
