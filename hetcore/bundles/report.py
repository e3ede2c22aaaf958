"""A run as one HTML page: what was trained and changed, the result, curves, weights, caveats.

The page asks nobody for anything and runs no script: its charts are SVG of at most 200 points each, so that it has some
tens of KB; text from users is escaped and cut.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from hetcore.data import HetData
from hetcore.data.markup import bar, line, plain, table

__all__ = ["Facts", "html"]

MOST_CURVES = 24
CURVES = {"loss": "Loss", "metric": "Metric", "autocorrelation": "Residuals' correlation over links"}
"""Title of the curves by the group of their column of a history."""
CAVEATS = (
    "A weight is how much a source or graph counted in this model, with these labels; it is no cause.",
    "This is one training with one seed: another seed or another choice of labels gives other numbers.",
    "The same numbers to the last bit need the pinned versions and the same kind of processor.",
)
STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color-scheme:light dark}"
    "h2{margin:1.6rem 0 .4rem;font-size:1.2rem}figure{display:inline-block;margin:0 2rem 1rem 0}"
)
# Nothing may load, whatever a name from the data holds.
POLICY = "default-src 'none'; style-src 'unsafe-inline'"


@dataclass(frozen=True)
class Facts:
    """What a report is made of.

    Attributes
    ----------
    title, method : str
    data : HetData or None
        As trained on; None for arrays.
    params : mapping of str to value
        Parameters that were set.
    changes : sequence of str
        What was changed in the data, in words.
    scores : mapping of str to float
        By the labels that they are on, such as "error on held-out labels".
    history : polars DataFrame or None
        An estimator's `history_`.
    source_weights, graph_weights : mapping of str to float
    """

    title: str
    method: str
    data: HetData | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    changes: Sequence[str] = ()
    scores: Mapping[str, float] = field(default_factory=dict)
    history: pl.DataFrame | None = None
    source_weights: Mapping[str, float] = field(default_factory=dict)
    graph_weights: Mapping[str, float] = field(default_factory=dict)


def html(facts: Facts) -> str:
    """Return the page of a run.

    Parameters
    ----------
    facts : Facts
    """
    parts = [*_trained(facts), *_changed(facts), *_scores(facts), *_curves(facts), *_weights(facts), *_caveats(facts)]
    head = f"<meta charset='utf-8'><meta http-equiv='Content-Security-Policy' content=\"{POLICY}\">"
    head += "<meta name='viewport' content='width=device-width'>"
    head += f"<title>{plain(facts.title, 120)}</title><style>{STYLE}</style>"
    return f"<!doctype html>\n<html lang='en'><head>{head}</head><body>" + "\n".join(parts) + "</body></html>\n"


def _listed(rows: Sequence[str]) -> str:
    return "<ul>" + "".join(f"<li>{plain(row)}</li>" for row in rows) + "</ul>"


def _trained(facts: Facts) -> Iterator[str]:
    yield f"<h1>{plain(facts.title, 120)}</h1><p>{plain(facts.method)}</p>"
    if facts.data is not None:
        yield f"<h2>Data</h2>{facts.data._repr_html_()}"


def _changed(facts: Facts) -> Iterator[str]:
    yield "<h2>What was changed</h2>"
    yield _listed(facts.changes) if facts.changes else "<p>Nothing: the data are as they were read.</p>"
    rows = [[plain(name, 60), plain(repr(value), 80)] for name, value in facts.params.items()]
    yield table(["parameter", "value"], rows) if rows else "<p>All parameters have their defaults.</p>"


def _scores(facts: Facts) -> Iterator[str]:
    yield "<h2>Result</h2>"
    rows = [[plain(name, 80), plain(f"{value:.6g}")] for name, value in facts.scores.items()]
    yield table(["on which labels", "value"], rows) if rows else "<p>No labels to score by.</p>"


def _curves(facts: Facts) -> Iterator[str]:
    history = pl.DataFrame() if facts.history is None else facts.history
    names = [name for name in history.columns if name.partition(":")[0] in CURVES][:MOST_CURVES]
    drawn = {name: history[name].cast(pl.Float64).to_numpy() for name in names}
    # A round without a number would end the line of an SVG.
    drawn = {name: values[np.isfinite(values)].tolist() for name, values in drawn.items()}
    yield "<h2>Round by round</h2>"
    for name, values in drawn.items():
        # A single point is no curve.
        if len(values) > 1:
            group, _, which = name.partition(":")
            words = f"{CURVES[group]}, {which}: from {values[0]:.4g} to {values[-1]:.4g} in {history.height:,} rounds"
            yield f"<figure>{line(values, words, 400, 120)}<figcaption>{plain(words)}</figcaption></figure>"
    if not any(len(values) > 1 for values in drawn.values()):
        yield "<p>There are no curves.</p>"


def _weights(facts: Facts) -> Iterator[str]:
    for noun, weights in {"source": facts.source_weights, "graph": facts.graph_weights}.items():
        rows = [[plain(name, 60), bar(weight, f"{weight:.3f}")] for name, weight in weights.items()]
        if rows:
            yield f"<h2>Weights of the {noun}s</h2>{table([noun, 'weight'], rows)}"


def _caveats(facts: Facts) -> Iterator[str]:
    held_out = any("held-out" in name for name in facts.scores)
    # The first caveat that a reader needs where nothing was held out.
    own = () if held_out else ("The result is on the labels trained on: on new rows it is worse.",)
    yield f"<h2>Caveats</h2>{_listed([*own, *CAVEATS])}"
    if facts.data is not None and len(facts.data.report):
        yield f"<h2>What was found in the data</h2>{facts.data.report._repr_html_()}"
