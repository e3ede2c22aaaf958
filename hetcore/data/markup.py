"""Small pieces of HTML for what a notebook displays: escaped, of bounded size, in the colours of the page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

__all__ = ["MOST_ROWS", "bar", "line", "plain", "stripes", "table"]

MOST_ROWS = 30
LONGEST = 300
INK = "#0072B2"
CELL = "padding:2px 12px 2px 0;text-align:left;vertical-align:top"


def plain(text: object, longest: int = LONGEST) -> str:
    """Return any text as HTML that shows it, on one line, cut after `longest` characters."""
    # unprintable characters can turn text around or hide it
    line = "".join(each if each.isprintable() else "\ufffd" for each in str(text))
    return escape(line if len(line) <= longest else f"{line[: longest - 1]}…")


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table of at most 30 rows, and how many more there are.

    Parameters
    ----------
    head : sequence of str
        Titles, as text.
    rows : sequence of sequence of str
        Cells, as HTML: text has gone through `plain`.
    """
    titles = "".join(f"<th style='{CELL}'>{plain(title)}</th>" for title in head)
    body = "".join(_row(cells) for cells in rows[:MOST_ROWS])
    more = f"<p>and {len(rows) - MOST_ROWS:,} more</p>" if len(rows) > MOST_ROWS else ""
    return (
        f"<table style='border-collapse:collapse'><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table>{more}"
    )


def _row(cells: Sequence[str]) -> str:
    return "<tr>" + "".join(f"<td style='{CELL}'>{cell}</td>" for cell in cells) + "</tr>"


def bar(share: float, words: str, width: int = 120) -> str:
    """Return a bar of a share in [0, 1] with words beside it.

    Parameters
    ----------
    share : float
    words : str
        As text.
    width : int, default=120
        Pixels of a whole.
    """
    # clipped: rounding can leave a share a little outside of [0, 1]
    long = f"{max(0.0, min(1.0, float(share))) * width:.0f}"
    box = f"<rect width='{width}' height='10' fill='currentColor' opacity='.1'/>"
    box += f"<rect width='{long}' height='10' fill='{INK}'/>"
    beside = "display:inline-block"  # marimo makes every picture a block
    return f"<svg width='{width}' height='10' style='{beside}' aria-hidden='true'>{box}</svg> {plain(words)}"


def stripes(rows: Iterable[Sequence[bool]], title: str, width: int = 320, height: int = 10) -> str:
    """Return a picture of rows of yes and no: a line where it is yes.

    Parameters
    ----------
    rows : iterable of (k,) sequence of bool
    title : str
        What it shows, as text.
    width, height : int
        Pixels of the picture and of a row.
    """
    path, count = "", 0
    for count, row in enumerate(rows, 1):
        path += "".join(
            f"M{width * first / len(row):.1f} {(count - 0.5) * height:.0f}H{width * last / len(row):.1f}"
            for first, last in _runs(row)
        )
    line = f"<path d='{path}' stroke='{INK}' stroke-width='{height - 2}'/>"
    return f"<svg width='{width}' height='{count * height}' role='img' aria-label='{plain(title)}'>{line}</svg>"


def _runs(row: Sequence[bool]) -> list[tuple[int, int]]:
    """Return where the runs of True begin and end."""
    edges = [k for k in range(len(row) + 1) if (k > 0 and bool(row[k - 1])) != (k < len(row) and bool(row[k]))]
    return list(zip(edges[::2], edges[1::2]))


def line(values: Sequence[float], title: str, width: int = 320, height: int = 60) -> str:
    """Return a small line chart of finite numbers, at most 200 of them drawn.

    Parameters
    ----------
    values : sequence of float
    title : str
        What it shows, as text.
    width, height : int
        In pixels.
    """
    # two hundred points are more than so small a picture can show
    every = max(1, len(values) // 200)
    drawn = list(values[::every])
    low, high = min(drawn), max(drawn)
    places = [width * k / max(len(drawn) - 1, 1) for k in range(len(drawn))]
    # a flat line has no height to divide by
    heights = [2 + (height - 4) * (high - value) / ((high - low) or 1) for value in drawn]
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(places, heights))
    path = f"<polyline points='{points}' fill='none' stroke='{INK}' stroke-width='2'/>"
    return f"<svg width='{width}' height='{height}' role='img' aria-label='{plain(title)}'>{path}</svg>"
