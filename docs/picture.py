"""Draw the README's picture: `python docs/picture.py` trains on the opening example and writes docs/picture.png.

Needs Debian's chromium, which draws it.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import plotly.graph_objects as go
import polars as pl
from plotly.subplots import make_subplots

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import datasets  # noqa: E402 - found by the line above
import hetcore as hc  # noqa: E402
from hetcore.data.splits import label_split  # noqa: E402

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#882255")
DASHES = ("solid", "dash", "dot", "dashdot", "longdash")
WIDTH, HEIGHT = 1200, 460


def main() -> None:
    """Train, draw, photograph."""
    data = datasets.load("digits_views")
    model = hc.GBCClassifier(random_state=0)
    model.fit(data, label_split(data, fraction=0.1, seed=0), eval_y=data.y)
    photograph(figure(model.history_, list(model.source_weights_)), ROOT / "docs" / "picture.png")


def figure(history: pl.DataFrame, sources: list[str]) -> go.Figure:
    """Return errors on the left, weights on the right, a line a source in one colour on both."""
    titles = ("Wrong on the hidden 90% of the digits", "Weight of each source")
    fig = make_subplots(rows=1, cols=2, subplot_titles=titles, horizontal_spacing=0.09)
    rounds = (history["iteration"] + 1).to_list()
    for source, colour, dash in zip(sources, COLOURS, DASHES):
        line = {"color": colour, "dash": dash, "width": 2}
        alone, weight = history[f"per_source:{source}"].to_list(), history[f"weight:{source}"].to_list()
        fig.add_scatter(x=rounds, y=alone, line=line, name=f"{source} alone", legendgroup=source, row=1, col=1)
        fig.add_scatter(x=rounds, y=weight, line=line, showlegend=False, row=1, col=2)
    joint = history["metric:held_out"].to_list()
    fig.add_scatter(x=rounds, y=joint, line={"color": "#111", "width": 4}, name="consensus", row=1, col=1)
    fig.update_yaxes(tickformat=".0%", rangemode="tozero")
    fig.update_xaxes(title_text="round")
    legend = {"orientation": "h", "y": -0.22, "x": 0.5, "xanchor": "center"}
    font, margin = {"size": 17, "family": "sans-serif"}, {"l": 60, "r": 20, "t": 50, "b": 20}
    fig.update_annotations(font_size=19)
    return fig.update_layout(
        template="simple_white", width=WIDTH, height=HEIGHT, legend=legend, font=font, margin=margin
    )


def photograph(fig: go.Figure, path: Path) -> None:
    """Write a figure as PNG, drawn by Chromium."""
    browser = shutil.which("chromium")
    if browser is None:
        raise SystemExit("Chromium is not there: install Debian's chromium.")
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "figure.html"
        body = fig.to_html(full_html=True, config={"staticPlot": True})
        page.write_text(body.replace("<body>", '<body style="margin:0">'), encoding="utf-8")
        options = [f"--window-size={WIDTH},{HEIGHT}", "--hide-scrollbars", "--virtual-time-budget=10000"]
        quiet = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        subprocess.run(  # noqa: S603 - our own page
            [browser, *quiet, *options, f"--screenshot={path}", page.as_uri()], check=True, capture_output=True
        )


if __name__ == "__main__":
    main()
