"""The part of the Data page that tells of all rows of data by path, of which the rest of the page shows a sample."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl
import streamlit as st

from studio import session
from studio.scans.opening import about
from studio.views.common.widgets import escape, show_table

__all__ = ["all_rows", "sizes_of"]

SIZES = ("B", "kB", "MB", "GB", "TB")


def sizes_of(facts: Mapping[str, Any]) -> dict[str, str]:
    """Return what the page says first of data by path, from `studio.scans.opening`'s statistics."""
    rows = sum(table["rows"] for table in facts["sources"].values())
    counts = {"Tables": len(facts["sources"]), "Graphs": len(facts["graphs"]), "Labels": facts["labels"]}
    texts = {name: f"{count:,}" for name, count in counts.items()}
    size = _size(sum(table["bytes"] for table in facts["sources"].values()))
    return {"Instances": _about(facts), "Records": f"{rows:,}"} | texts | {"On disk": size}


def _about(facts: Mapping[str, Any]) -> str:
    count = facts["instances"]
    return f"{count:,}" if facts["share"] >= 1 else f"about {about(count):,}"


def _size(size: float) -> str:
    steps = 0
    while size >= 1000 and steps < len(SIZES) - 1:
        size, steps = size / 1000, steps + 1
    return f"{size:.3g} {SIZES[steps]}"


def all_rows() -> None:
    """Show counts, quantiles and coverage of all rows where the data in use are a sample; else nothing."""
    if (facts := session.summary()) is None:
        return
    st.subheader("All rows", anchor=False)
    left, right = st.columns(2)
    with left:
        _tables(facts)
    with right:
        _coverage(facts)
    name = st.selectbox("Columns of", list(facts["sources"]), key="statistics_of", width=300)
    _columns(facts["sources"][name], facts["share"] >= 1)
    st.subheader("The sample", anchor=False)
    words = "Half of it has a label, where there are so many: its shares are not those of all rows."
    st.caption(f"What follows shows {session.current().data.n:,} instances, and what-if questions are of them. {words}")


def _tables(facts: Mapping[str, Any]) -> None:
    st.markdown("**Which table has whom**")
    tables = [(name, *(table[key] for key in ("rows", "columns"))) for name, table in facts["sources"].items()]
    shares = [min(1.0, rows / max(facts["instances"], 1)) for _, rows, _ in tables]
    frame = pl.DataFrame(tables, schema=["table", "records", "columns"], orient="row")
    config = {
        "records": st.column_config.NumberColumn("records", format="localized"),
        "part": st.column_config.ProgressColumn("part of the instances", format="percent", min_value=0, max_value=1),
    }
    frame = frame.with_columns(part=pl.Series(shares))
    show_table(frame, column_config=config, key="table_sizes", alt="Records and columns by table")


def _coverage(facts: Mapping[str, Any]) -> None:
    st.markdown("**How the tables overlap**")
    total = len(facts["sources"])
    rows = [(_named(each["sources"], total), each["share"]) for each in facts["patterns"]]
    config = {
        "part": st.column_config.ProgressColumn("part of the instances", format="percent", min_value=0, max_value=1)
    }
    frame = pl.DataFrame(rows, schema={"tables": pl.String, "part": pl.Float64}, orient="row")
    show_table(frame, column_config=config, key="table_sets", alt="Instances by set of tables")
    if facts["share"] < 1:
        error = f"{_about(facts)} instances, ±{facts['error']:.1%}"
        st.caption(f"Counted from {facts['drawn']:,} instances that were drawn by their ids: {error}.")


def _named(names: list[str], total: int) -> str:
    return f"all {total}" if len(names) == total > 1 else ", ".join(names)


def _columns(table: Mapping[str, Any], exact: bool) -> None:
    """Show the statistics of a table's columns."""
    if not table["statistics"]:
        st.caption("Its columns are lists: they have no statistics.")
        return
    frame = pl.DataFrame(table["statistics"], infer_schema_length=None, strict=False)
    numbers = [name for name in frame.columns if name not in ("column", "type")]
    config = {name: st.column_config.NumberColumn(name, format="localized") for name in numbers}
    show_table(frame, column_config=config, key="column_statistics", alt="Statistics by column")
    left_out = table["columns"] - frame.height
    words = f" {left_out:,} more columns are not shown." if left_out else ""
    words = f"Different values are about right{'' if exact else ', and so are quantiles'}; the others are exact.{words}"
    st.caption(escape(words))
