"""A small picture of a data set, drawn from what it is made of: tables as grids as wide as their columns and as high as
the instances that they have, graphs as nodes and links, and what is predicted as classes or as a scale. No Streamlit.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Iterator, Sequence

from datasets.shapes import Shape, Table
from hetcore.data.text import counted
from hetcore.figures.basic import COLOURS

__all__ = ["image", "picture", "summary"]

HEIGHT, GAP = 48, 5
GREY = "#7F8790"
"""Seen on light and on dark."""
NARROW, WIDE = 6, 24
"""Pixels of a table of one column, and at most."""
MOST_TABLES, MOST_GRAPHS, MOST_CLASSES = 6, 3, 6
NODES = ((4, 10), (20, 3), (26, 22), (9, 30), (16, 16))
LINKS = ((0, 1), (1, 4), (4, 2), (3, 4), (0, 4), (2, 3))


def picture(shape: Shape) -> str:
    """Return the picture as SVG, `HEIGHT` high and as wide as it needs."""
    parts, x = [], 1.0
    for place, (table, top) in enumerate(zip(shape.tables[:MOST_TABLES], _tops(shape.tables))):
        width = _width(table)
        parts += _table(table, x, top, width, COLOURS[place % len(COLOURS)])
        x += width + GAP
    for _ in range(min(shape.graphs, MOST_GRAPHS)):
        parts += _graph(x)
        x += 30 + GAP
    if shape.graphs > MOST_GRAPHS:
        parts.append(f'<text x="{x:.0f}" y="30" font-size="13" fill="{GREY}">+{shape.graphs - MOST_GRAPHS}</text>')
        x += 26
    parts += _predicted(x + GAP, shape.classes)
    width = math.ceil(x + GAP + 28)
    size = f'width="{width}" height="{HEIGHT}" viewBox="0 0 {width} {HEIGHT}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{"".join(parts)}</svg>'


def _width(table: Table) -> float:
    return min(NARROW + 2.6 * math.log2(table.columns), WIDE)


def _tops(tables: Sequence[Table]) -> list[float]:
    """Return the share of the instances above each table: tables of other instances each stand as stairs."""
    shares = [table.share for table in tables]
    stairs = len(shares) > 1 and abs(sum(shares) - 1) < 0.02
    return [sum(shares[:k]) if stairs else 0.0 for k in range(len(shares))]


def _table(table: Table, x: float, top: float, width: float, colour: str) -> Iterator[str]:
    """Draw a table: its frame, and cells, lines of text or pixels within."""
    y, height = 2 + top * (HEIGHT - 4), max(table.share * (HEIGHT - 4), 3.0)
    frame = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
    yield f'<rect {frame} rx="1.5" fill="{colour}" fill-opacity="0.3" stroke="{colour}"/>'
    if table.kind == "image":
        yield from (f'<rect x="{x + width * i / 4:.1f}" y="{y + height * j / 6:.1f}" width="{width / 4:.1f}" '
                    f'height="{height / 6:.1f}" fill="{colour}"/>'
                    for i in range(4) for j in range(6) if (i * i + 3 * j) % 4 < 2)  # fmt: skip
        return
    for k in range(1, int(height // 6)):
        end = x + width * (0.55 + 0.4 * ((k * 5) % 3) / 2 if table.kind == "text" else 1)
        yield f'<path d="M{x:.1f} {y + 6 * k:.1f}H{end:.1f}" stroke="{colour}" stroke-width="0.8"/>'


def _graph(x: float) -> Iterator[str]:
    for i, j in LINKS:
        (a, b), (c, d) = NODES[i], NODES[j]
        yield f'<path d="M{x + a:.1f} {b + 7}L{x + c:.1f} {d + 7}" stroke="{GREY}" stroke-width="1.2"/>'
    for a, b in NODES:
        yield f'<circle cx="{x + a:.1f}" cy="{b + 7}" r="3" fill="{GREY}"/>'


def _predicted(x: float, classes: int) -> Iterator[str]:
    """Draw an arrow, and classes as boxes or a number as a scale."""
    yield f'<path d="M{x:.1f} 24h9m-4 -4l4 4l-4 4" stroke="{GREY}" stroke-width="1.5" fill="none"/>'
    x += 13
    if not classes:
        yield f'<path d="M{x:.1f} 42L{x + 12:.1f} 42L{x + 12:.1f} 6Z" fill="{GREY}"/>'
        return
    shown = min(classes, MOST_CLASSES)
    step = (HEIGHT - 6) / shown
    for k in range(shown):
        opacity = 1 - 0.85 * k / shown
        yield (f'<rect x="{x:.1f}" y="{3 + k * step:.1f}" width="12" height="{step - 1.5:.1f}" rx="1.5" '
               f'fill="{GREY}" fill-opacity="{opacity:.2f}" stroke="{GREY}" stroke-width="0.7"/>')  # fmt: skip


def summary(shape: Shape) -> str:
    """Return the picture in words: "5 tables, 2 graphs, 10 classes"."""
    kinds = [table.kind for table in shape.tables]
    parts = [counted(len(kinds) - kinds.count("image"), "table")]
    parts += [counted(kinds.count("image"), "image") + " each"] if "image" in kinds else []
    parts += [counted(shape.graphs, "graph")] if shape.graphs else []
    return ", ".join([*parts, f"{shape.classes} classes" if shape.classes else "a number to predict"])


def image(shape: Shape) -> str:
    """Return the picture as Markdown, which needs no other file."""
    code = base64.b64encode(picture(shape).encode()).decode()
    return f"![{summary(shape)}](data:image/svg+xml;base64,{code})"
