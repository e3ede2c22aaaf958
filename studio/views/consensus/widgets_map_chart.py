"""The map's chart: points that are chosen by drawing around them, and whose colours follow the timeline."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st

from studio.server import PLOTLY_ADDRESS
from studio.views.common.widgets import LOAD_PLOTLY
from studio.views.common.widgets_menu import chart_config
from studio.views.common.widgets_timeline import CHARTS

__all__ = ["map_chart"]

DRAW = (Path(__file__).parent / "map.js").read_text("utf-8")
HTML = "<div class='map-chart' style='width:100%;min-height:320px'></div>"


class _Arrays(json.JSONEncoder):
    def default(self, value: Any) -> Any:
        """Return an array as a list."""
        return value.tolist() if isinstance(value, np.ndarray | np.generic) else super().default(value)


def map_chart(figure: dict[str, Any], key: str, keeps: str, alt: str, rounds: dict[str, Any] | None) -> list[int]:
    """Draw a map, and return the rows of the data that are chosen on it.

    Parameters
    ----------
    figure : dict
        Of `instance_map.figure`.
    key : str
        The same over reruns.
    keeps : str
        As long as it is the same, zoom is kept.
    alt : str
        In place of the picture, for whoever does not see it.
    rounds : dict or None
        Of `instance_map.coded`; None for a map of the last round alone.
    """
    text = json.dumps(figure, cls=_Arrays)
    content = {"figure": text, "address": PLOTLY_ADDRESS, "config": chart_config(), "keeps": keeps, "alt": alt}
    version = hash((text, content["config"]["displayModeBar"], rounds["codes"] if rounds else ""))
    content |= {"version": str(version), "rounds": rounds}
    with st.container(key=key):
        found = _map()(
            data=content, key=f"{key}_node", height=figure["layout"]["height"], on_chosen_change=lambda: None,
            default={"chosen": []},
        )  # fmt: skip
    return [int(row) for row in found.chosen or []]


def _map() -> Any:
    return st.components.v2.component("hetcore_map", html=HTML, js=LOAD_PLOTLY + CHARTS + DRAW, isolate_styles=False)
