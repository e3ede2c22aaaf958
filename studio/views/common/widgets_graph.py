"""A network that one can zoom into and click on: a large one drawn by WebGL, by SVG where the browser has none."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from hetcore.figures.graph import Look
from studio.server import PLOTLY_ADDRESS
from studio.views.common.widgets import LOAD_PLOTLY
from studio.views.common.widgets_menu import chart_config
from studio.views.common.widgets_timeline import CHARTS

__all__ = ["coded", "network_chart"]

NOTHING = 255
"""The code of a node without a colour."""

DRAW = (Path(__file__).parent / "network.js").read_text("utf-8")
TYPES = {"float32": "f4", "float64": "f8", "int32": "i4", "uint8": "u1"}


class _Arrays(json.JSONEncoder):
    """Numbers as Plotly's packed arrays."""

    def default(self, value: Any) -> Any:
        """Return an array of numbers packed, another one as a list."""
        if isinstance(value, np.ndarray):
            # Plotly's packed form has no 64-bit whole numbers.
            value = value.astype(np.int32) if value.dtype == np.int64 else value
            if value.dtype.name not in TYPES:
                return value.tolist()
            packed = base64.b64encode(np.ascontiguousarray(value)).decode()
            return {"dtype": TYPES[value.dtype.name], "bdata": packed}
        return value.item() if isinstance(value, np.generic) else super().default(value)


def coded(stages: Sequence[NDArray], look: Look) -> dict[str, Any]:
    """Return the nodes' colours after each stage, (n,) each, as a byte a node and stage, for a browser.

    Parameters
    ----------
    stages : sequence of (n,) float, or of (n,) of colour names
        NaN and None have no colour.
    look : Look
        Of the last stage, whose scale or classes are those of all.
    """
    names, facts = list(look.legend.values()), {"count": len(stages), "nodes": len(stages[0])}
    if names:
        places = {name: place for place, name in enumerate(names[:NOTHING])}
        codes = [[places.get(colour, NOTHING) for colour in each] for each in stages]
        facts |= {"palette": names[:NOTHING]}
    else:
        low, high = float(look.axis.get("cmin", 0)), float(look.axis.get("cmax", 1))
        shares = np.clip((np.asarray(stages, float) - low) / (high - low), 0, 1) * (NOTHING - 1)
        codes = np.where(np.isnan(shares), NOTHING, np.round(shares))
        facts |= {"low": low, "high": high}
    packed = np.asarray(codes, float).astype(np.uint8)
    return facts | {"codes": base64.b64encode(np.ascontiguousarray(packed)).decode()}


def network_chart(
    figure: dict[str, Any],
    key: str,
    keeps: str,
    picked: Callable[[int], None],
    stages: dict[str, Any] | None = None,
) -> None:
    """Draw a network that keeps its zoom while its colours change, with those of the stage that the charts show.

    Parameters
    ----------
    figure : dict
        Of `hetcore.figures.graph.network`.
    key : str
        The same over reruns.
    keeps : str
        As long as it is the same, zoom and place are kept.
    picked : callable
        Called with the place of a node that was clicked, before the page is drawn again.
    stages : dict, optional
        Of `coded`.
    """
    text = json.dumps(figure, cls=_Arrays)
    nodes = sum(len(trace["x"]) for trace in figure["data"] if "customdata" in trace)
    # A network is zoomed into; charts are scrolled past.
    config = chart_config() | {"scrollZoom": True}
    content = {"figure": text, "address": PLOTLY_ADDRESS, "config": config, "keeps": keeps}
    # Not of the stages, which come a moment later: a network is drawn in a second, coloured in a tenth of it.
    content |= {"version": str(hash((text, config["displayModeBar"]))), "nodes": nodes, "stages": stages}
    height, state_key = figure["layout"]["height"], f"{key}_node"

    def clicked() -> None:
        place = st.session_state[state_key].node
        # Streamlit calls this too when the value is reset to nothing.
        if place is not None:
            picked(int(place))

    with st.container(key=key):
        _network()(data=content, key=state_key, height=height, on_node_change=clicked)


def _network() -> Any:
    html = "<div class='network-chart' style='width:100%;min-height:320px'></div>"
    js = LOAD_PLOTLY + CHARTS + DRAW
    return st.components.v2.component("hetcore_network", html=html, js=js, isolate_styles=False)
