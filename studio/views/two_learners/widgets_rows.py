"""Single instances on the Two learners page, and what happens to all of them when a source fails."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
import streamlit as st

from hetcore.data import HetData, Source
from hetcore.figures import two_learners as figures
from studio.jobs import manager
from studio.jobs.job import Setting
from studio.views.common.widgets import escape, live_chart, show_table
from studio.views.common.widgets_controls import asked_choice, in_link
from studio.views.two_learners import settings as two_learners
from studio.views.two_learners import whatif

__all__ = ["failing", "instances", "picture"]

EVERY = 0.5
"""Seconds between two looks at what is being predicted."""
STRIP = 8
MOST_IDS = 500
ENOUGH = 200
"""Images that tell how light the lightest pixel is."""
SIDE = 96
"""Pixels of a side that small images are drawn with."""
DISAGREE, WRONG, ANY = "models disagree", "all wrong", "any"


# One instance ---------------------------------------------------------------------------------------------------------


def picture(source: Source, row: int) -> np.ndarray:
    """Return a record of a source of images as (h, w) or (h, w, 3) uint8, its pixels large enough to see."""
    seen = np.asarray(source.array[:ENOUGH], float)
    low = 0.0 if source.array.dtype == np.uint8 else float(np.nanmin(seen))
    high = float(np.nanmax(seen))
    image = np.nan_to_num(np.asarray(source.array[row], float), nan=low)
    small = np.clip(255 * (image - low) / (high - low or 1.0), 0, 255).astype(np.uint8)
    small = small[..., 0] if small.ndim == 3 and small.shape[2] == 1 else small[..., :3] if small.ndim == 3 else small
    times = max(1, -(-SIDE // max(small.shape[:2])))
    return small.repeat(times, axis=0).repeat(times, axis=1)


def _table(frames: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Return id, what is true, and what each model says, of held-out rows where there are some."""
    first = next(iter(frames.values()))
    truth = "held_out" if "held_out" in first.columns and first["held_out"].count() else "label"
    table = first.filter(pl.col(truth).is_not_null()).select("id", pl.col(truth).alias("truth"))
    for label, frame in frames.items():
        table = table.join(frame.select("id", pl.col("prediction").alias(label)), on="id", how="left")
    return table


def _filtered(table: pl.DataFrame, labels: Sequence[str], kind: str) -> pl.DataFrame:
    if kind == DISAGREE:
        return table.filter(pl.any_horizontal(*(pl.col(label) != pl.col(labels[0]) for label in labels)))
    if kind == WRONG:
        return table.filter(pl.all_horizontal(*(pl.col(label) != pl.col("truth") for label in labels)))
    return table


def instances(data: HetData, frames: Mapping[str, pl.DataFrame], sources: Sequence[str]) -> None:
    """Draw a strip of images, and what each model says of the chosen instance.

    Parameters
    ----------
    data : HetData
    frames : mapping of str to DataFrame
        Predictions by label.
    sources : sequence of str
        Names of the sources in use; the first of images is drawn.
    """
    kinds = [DISAGREE, WRONG, ANY] if len(frames) > 1 else [WRONG, ANY]
    look = {"default": kinds[asked_choice("rows", kinds)], **in_link("rows", f"rows shown of {len(kinds)}")}
    kind = st.segmented_control(
        "Rows", kinds, required=True, **look,
        help="Rows on which the models do not say the same, on which none is right, or all rows.",
    )  # fmt: skip
    table = _filtered(_table(frames), list(frames), kind or kinds[0])
    if not table.height:
        st.caption("There is no such row.")
        return
    images = next((data.sources[name] for name in sources if two_learners.is_image(data.sources[name])), None)
    ids = table["id"].head(MOST_IDS).to_list()
    st.caption(f"{table.height:,} such rows.")
    if images is not None:
        _strip(images, table.head(STRIP), list(frames))
    look = in_link("instance", "two_instance")
    chosen = st.selectbox("Instance", ids, asked_choice("instance", ids), help="Type to search.", width=320, **look)
    _one(images, chosen, table.filter(pl.col("id") == chosen).row(0, named=True), frames)


def _strip(images: Source, table: pl.DataFrame, labels: Sequence[str]) -> None:
    """Draw the first rows as images: what is true, and how many models are right."""
    place = {each: row for row, each in enumerate(images.ids)}
    with st.container(horizontal=True, key="strip"):
        for row in table.iter_rows(named=True):
            if row["id"] not in place:
                continue
            right = sum(row[label] == row["truth"] for label in labels)
            text = f"{escape(row['id'])}: is {escape(row['truth'])}; {right} of {len(labels)} right"
            st.image(picture(images, place[row["id"]]), text, width=SIDE)


def _one(images: Source | None, chosen: str, row: Mapping[str, Any], frames: Mapping[str, pl.DataFrame]) -> None:
    """Draw one instance, and what each model says of it."""
    truth, predictions = row["truth"], []
    for label, frame in frames.items():
        own = frame.row(by_predicate=pl.col("id") == chosen, named=True)
        found = {"model": label, "says": own["prediction"], "right": own["prediction"] == truth}
        shares = {"probability": own.get(f"p:{own['prediction']}"), "of the true class": own.get(f"p:{truth}")}
        found |= {name: None if share is None else 100.0 * share for name, share in shares.items()}
        predictions.append(found)
    left, right = st.columns([1, 3])
    with left:
        at = np.flatnonzero(np.asarray(images.ids) == chosen) if images is not None else []
        if len(at):
            st.image(picture(images, int(at[0])), width=2 * SIDE)
        st.markdown(f"True class: **{escape(truth)}**")
    with right:
        per_cent = {
            each: st.column_config.NumberColumn(format="%.1f%%") for each in ("probability", "of the true class")
        }
        show_table(predictions, width="stretch", column_config=per_cent)


# A source that fails --------------------------------------------------------------------------------------------------


def failing(
    data: HetData, settings: Mapping[str, Setting], results: Mapping[str, Any], runs: Mapping[str, str],
    sources: Sequence[str], order: Sequence[str], owner: str,
) -> None:  # fmt: skip
    """Let the person choose a source that fails when predicting, and draw how F1 falls.

    Parameters
    ----------
    data : HetData
        Before all operations.
    settings, results : mappings
        Setting and RunResult by label.
    runs : mapping of str to str
        Run ids by label.
    sources, order : sequences of str
        Sources in use, all labels that there can be.
    owner : str
    """
    if st.session_state.get("fails") not in sources:
        st.session_state.pop("fails", None)
    name = st.selectbox(
        "Source that fails", sources, asked_choice("fails", sources, len(sources) - 1), width=320, **in_link("fails"),
        help="The trained models predict with noise in it, then without it. Nothing is trained again.",
    )  # fmt: skip
    models = {label: result.model for label, result in results.items() if result.model is not None}
    kept, key = st.session_state.setdefault("failing", {}), (tuple(runs.values()), name)
    if not models or not (
        _known(kept.get(key)) or _asked(kept, key, data, settings=settings, models=models, name=name, owner=owner)
    ):
        return
    active = manager.manager().status(kept[key]).active
    st.fragment(_look, run_every=EVERY if active else None)(kept[key], name, order, active)


def _known(run: str | None) -> bool:
    try:
        return run is not None and bool(manager.manager().status(run))
    except manager.UnknownRunError:
        return False


def _asked(
    kept: dict[Any, str], key: Any, data: HetData, settings: Mapping[str, Setting], models: Mapping[str, bytes],
    name: str, owner: str,
) -> bool:  # fmt: skip
    """Let a worker predict; return whether it was accepted."""
    operations = next(iter(settings.values())).operations
    arguments = {"data": data, "operations": operations, "models": dict(models), "name": name}
    try:
        kept[key] = manager.manager().run_task(whatif.PATH, arguments, owner)
    except ValueError as error:
        st.error(escape(error))
        return False
    for old in list(kept)[:-8]:
        del kept[old]
    return True


def _look(run: str, name: str, order: Sequence[str], active: bool) -> None:
    """Draw how far the predictions are, and F1 so far."""
    status = manager.manager().status(run)
    cells = [event.detail for event in manager.manager().events(run)]
    if status.state == "failed":
        st.error(escape(status.message))
    elif status.active:
        st.progress(status.rounds / max(status.total, 1), text="Predicting with the source corrupted")
    if cells:
        with st.container(key="fallen"):
            st.markdown(_summary(cells, name, status.active))
        live_chart(figures.failing(whatif.by_model(cells), name, order), "two_failing", len(cells))
    if active and not status.active:
        st.rerun()


def _summary(cells: Sequence[Mapping[str, Any]], name: str, active: bool) -> str:
    return escape(whatif.summary(cells, name)) or ("What it costs is told once all is there." if active else "")
