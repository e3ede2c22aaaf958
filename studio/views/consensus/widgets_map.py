"""The tab with the map of the instances: what it is coloured by, what was chosen on it, and the table of that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
import streamlit as st

from hetcore.data import HetData
from hetcore.data.text import counted
from studio.views.common.widgets import show_table
from studio.views.common.widgets_controls import asked_choice, in_link
from studio.views.consensus import instance_map
from studio.views.consensus.instance_map import CONSENSUS, DISAGREEMENT, ERROR, MOST, VALUES, Views
from studio.views.consensus.widgets_case import study_of
from studio.views.consensus.widgets_map_chart import map_chart

__all__ = ["instances"]

FUNCTION = "studio.views.consensus.instance_map:views"
SHOWN = 500
"""Rows of the table."""


def instances(result: Any, data: HetData, operations: Sequence[Mapping[str, Any]], owner: str) -> None:
    """Draw the map of the instances and the table of those that were chosen on it.

    Parameters
    ----------
    result : RunResult
        Of a consensus.
    data : HetData
        Before the what-ifs of the training.
    operations : sequence of dict
        What-ifs of the training.
    owner : str
    """
    study = study_of(result, data, operations, owner)
    if study is None:
        return
    data = study.data
    on, by = _choices(data)
    found: Views | None = study.ask_of_all(FUNCTION, on=on)
    if found is None:
        return
    if not len(found.rows):
        st.caption("Nothing has a place on this map: choose another.")
        return
    values = instance_map.colours(found, by, result.predictions)
    table = _table(found, result.predictions)
    ringed = _chosen_in_table()
    rounds = instance_map.by_round(found, by, result.predictions, result.staged)
    names = result.predictions["id"][found.rows].to_list()
    figure = instance_map.figure(found, values, by, names, ringed, rounds=rounds)
    # Only where something was left out.
    note = f"{MOST:,} of {data.n:,} instances, drawn at random. " if len(found.rows) == MOST < data.n else ""
    which = "In the round that the charts show" if rounds else "Of the last round"
    st.caption(f"{which}. {note}Draw around points to list them below; choose rows there to ring them here.")
    coded = instance_map.coded(figure, rounds) if rounds else None
    # A choice is of rows of the data: it stays while the map is coloured by something else.
    _rows(table, map_chart(figure, "map", f"{on} {by}", f"Map of the instances by {by}", coded))


def _choices(data: HetData) -> tuple[str, str]:
    """Draw what the map is of and coloured by."""
    places = [VALUES, *data.graph_names]
    words = {VALUES: "values: two components"} | {name: f"links of {name}" for name in data.graph_names}
    with st.container(horizontal=True):
        look = in_link("mapof", "map of") | {"format_func": words.get, "width": 280}
        on = st.selectbox("Side by side is what is alike in", places, asked_choice("mapof", places), **look)
        # A source may be called like one of the three others.
        options = [CONSENSUS, ERROR, DISAGREEMENT, *(each for each in data.source_names if each not in OWN)]
        names = {name: f"prediction of {name} alone" for name in data.source_names} | OWN
        look = in_link("mapby", "map by") | {"format_func": names.get, "width": 280}
        by = st.selectbox("Coloured by", options, asked_choice("mapby", options), **look)
    return on, by


OWN = {CONSENSUS: "prediction of the consensus", ERROR: "error", DISAGREEMENT: "disagreement of the sources"}


def _table(found: Views, predictions: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of the table: id, label, prediction, disagreement, and what each source predicts."""
    rows = predictions[found.rows]
    kept = [name for name in ("id", "label", "held_out", "prediction") if name in rows.columns]
    columns = [pl.Series("row", found.rows), *rows.select(kept).rename({"held_out": "hidden label"}, strict=False)]
    columns.append(pl.Series("disagreement", np.round(found.disagreement, 3)))
    alone = {name: pl.Series(f"{name} alone", values.tolist(), strict=False) for name, values in found.sources.items()}
    return pl.DataFrame([*columns, *alone.values()])


def _chosen_in_table() -> list[int]:
    """Return the rows in the data that are chosen in the table as it was drawn last."""
    # Streamlit tells places in the table as it was drawn, which may be sorted otherwise by now.
    kept = st.session_state.get("map rows")
    drawn = st.session_state.get("map drawn", [])
    places = kept["selection"]["rows"] if kept else []
    return [drawn[place] for place in places if place < len(drawn)]


def _rows(table: pl.DataFrame, chosen: Sequence[int]) -> None:
    """Draw the table of what was chosen on the map, of the most disputed without a choice."""
    shown = table.filter(pl.col("row").is_in(list(chosen))) if chosen else table
    if chosen:
        st.markdown(f"**{counted(shown.height, 'instance')} chosen**{_wrong(shown)}.")
    else:
        st.markdown("Nothing is chosen: the most disputed come first.")
    shown = shown.sort("disagreement", descending=True).head(SHOWN)
    st.session_state["map drawn"] = shown["row"].to_list()
    show_table(shown.drop("row"), key="map rows", on_select="rerun", selection_mode="multi-row",
                 width="stretch", height=280, alt="Instances and what is predicted of them")  # fmt: skip


def _wrong(shown: pl.DataFrame) -> str:
    """Return how many of the chosen are predicted wrongly, where that is known."""
    truth = [name for name in ("label", "hidden label") if name in shown.columns]
    rows = shown.with_columns(truth=pl.coalesce(truth)).drop_nulls("truth")
    # Numbers are never wrong or right.
    if not rows.height or rows["prediction"].dtype.is_float():
        return ""
    return f", {(rows['truth'] != rows['prediction']).mean():.1%} of those with a label wrong"
