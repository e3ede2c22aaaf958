"""A network that one can zoom into and click on, drawn by WebGL; by SVG where the browser has none."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import streamlit as st

from studio.server import PLOTLY_ADDRESS
from studio.views.common.widgets import LOAD_PLOTLY
from studio.views.common.widgets_menu import chart_config

__all__ = ["network_chart"]

DRAW = """
let canvas = null;
function webgl() {
  if (canvas === null) {
    try { canvas = Boolean(document.createElement("canvas").getContext("webgl")); } catch { canvas = false; }
  }
  return canvas;
}
function draw(node) {
  const data = node.told, style = getComputedStyle(node.parentElement), drawn = `${data.version} ${style.color}`;
  if (node.drawing === drawn) return;
  node.drawing = drawn;
  const figure = JSON.parse(data.figure);
  figure.layout.font = { color: style.color, family: style.fontFamily };
  figure.layout.uirevision = data.keeps;
  if (!webgl()) for (const trace of figure.data) if (trace.type === "scattergl") trace.type = "scatter";
  plotly(data.address).then(Plotly => Plotly.react(node, figure.data, figure.layout, data.config)).then(() => {
    node.dataset.version = data.version;
    node.dataset.nodes = data.nodes;
    node.dataset.drawn = webgl() ? "webgl" : "svg";
    node.removeAllListeners("plotly_click");
    node.on("plotly_click", event => {
      const hit = event.points.find(point => point.customdata !== undefined);
      if (hit) node.pick(Number(hit.customdata));
    });
  });
}
export default function (component) {
  const { data, parentElement, setTriggerValue } = component;
  const node = parentElement.querySelector(".network-chart"), app = document.querySelector("[data-testid='stApp']");
  node.pick = place => setTriggerValue("node", place);
  node.told = data;
  if (!node.watched && app) {  // light and dark may change while a page is open
    node.watched = new MutationObserver(() => setTimeout(() => node.isConnected && draw(node), 50));
    node.watched.observe(app, { attributes: true, attributeFilter: ["class"] });
  }
  draw(node);
}
"""
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


def network_chart(figure: dict[str, Any], key: str, keeps: str, picked: Callable[[int], None]) -> None:
    """Draw a network that keeps its zoom while its colours change.

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
    """
    text = json.dumps(figure, cls=_Arrays)
    nodes = sum(len(trace["x"]) for trace in figure["data"] if "customdata" in trace)
    # A network is zoomed into; charts are scrolled past.
    config = chart_config() | {"scrollZoom": True}
    content = {"figure": text, "address": PLOTLY_ADDRESS, "config": config, "keeps": keeps}
    content |= {"version": str(hash((text, config["displayModeBar"]))), "nodes": nodes}
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
    return st.components.v2.component("hetcore_network", html=html, js=LOAD_PLOTLY + DRAW, isolate_styles=False)
