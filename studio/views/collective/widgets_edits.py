"""What if on the Collective page: hide a label, cut or add an edge; take it back; train again; who changes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import polars as pl
import streamlit as st

from hetcore.data import HetData
from hetcore.data.text import counted
from hetcore.errors import DataError, ParameterError
from studio import scenarios
from studio.messages import explained, minus, shown
from studio.runs import reopening
from studio.runs.differences import operation_text
from studio.views.collective.widgets_node import Trained, plain
from studio.views.common.widgets import escape, show_table
from studio.views.common.widgets_controls import held

__all__ = ["bar", "changed_text", "edits", "of_the_page", "say_left_out", "who"]

MOST_CHOICES = 5_000
MOST_ROWS = 200
LEFT_OUT = "edits left out"
EDITS, TRAINED, NOTHING = reopening.EDITED, reopening.EDITS_TRAINED, reopening.edits_text([])


def edits(digest: str) -> list[dict[str, Any]]:
    """Return the edits of the data of that digest, as operations."""
    return json.loads(st.session_state.get(EDITS + digest, NOTHING))


def of_the_page(digest: str, base: HetData) -> list[dict[str, Any]]:
    """Make the edits part of the page's state, in its address too; return those that are trained on.

    Parameters
    ----------
    digest : str
        Of the data before what-ifs.
    base : HetData
        After those of the Data page.
    """
    key = held(EDITS + digest, NOTHING, name="edits")
    trained = held(TRAINED, False, name="edited")
    try:
        # An address may be of other data, and anybody may have written it.
        log = scenarios.checked(json.loads(st.session_state[key]))
        if any(each["op"] not in reopening.EDITS for each in log):
            raise DataError("They are no edits of a network.")
        if log:
            scenarios.apply(base, log)
    except (ValueError, TypeError, RecursionError) as error:
        why = f" {explained(error)}" if isinstance(error, DataError | ParameterError) else ""
        st.session_state[LEFT_OUT] = f"The edits of the network are left out, for they don't fit these data.{why}"
        st.session_state[key] = NOTHING
    return edits(digest) if st.session_state[trained] else []


def say_left_out(digest: str) -> None:
    """Say that edits were left out, until somebody edits: the page is drawn again where its network is laid out."""
    if edits(digest):
        st.session_state.pop(LEFT_OUT, None)
    elif LEFT_OUT in st.session_state:
        st.warning(escape(st.session_state[LEFT_OUT]))


def _keep(digest: str, log: Sequence[dict[str, Any]]) -> None:
    st.session_state[EDITS + digest] = reopening.edits_text(log)


def _edit(digest: str, base: HetData, operation: dict[str, Any]) -> None:
    """Add an edit, if it can be done after those before it."""
    log = [*edits(digest), operation]
    try:
        # Tried before it is kept: an edit that cannot be done leaves the list as it was.
        scenarios.apply(base, log)
    except (DataError, ParameterError) as error:
        st.session_state["edit refused"] = str(error)
        return
    _keep(digest, log)


def _undo(digest: str, everything: bool = False) -> None:
    left = [] if everything else edits(digest)[:-1]
    _keep(digest, left)
    # Nothing is edited any more, so that nothing was trained with edits.
    if not left:
        st.session_state[TRAINED] = False


def _train_again() -> None:
    st.session_state[TRAINED] = st.session_state["train_now"] = True


def bar(
    digest: str,
    base: HetData,
    edited: HetData,
    graph: str,
    place: int | None,
    model: Trained | None,
    new: Sequence[Any],
) -> None:
    """Offer edits of the chosen node, list them, and offer to take them back or to train again."""
    log = edits(digest)
    with st.container(border=True, key="edits"):
        st.markdown("**What if?** " + ("Choose a node: hide its label, cut or add an edge." if place is None else ""))
        if place is not None:
            _offers(digest, base, edited, graph=graph, place=place, model=model)
        if log:
            with st.container(horizontal=True, vertical_alignment="center"):
                st.markdown(escape("; ".join(map(operation_text, log))))
                st.button("Undo", on_click=_undo, args=(digest,), icon=":material/undo:", key="undo edit")
                st.button("Undo all", on_click=_undo, args=(digest, True), key="undo edits")
                if new and model is not None:
                    help_ = "The trained models have only inferred again; this trains them with the edits, too."
                    if st.button("Train again with the edits", on_click=_train_again, key="train edits", help=help_):
                        st.rerun()


def _offers(digest: str, base: HetData, edited: HetData, graph: str, place: int, model: Trained | None) -> None:
    node, links = str(base.ids[place]), edited.graphs[graph]
    near = [str(one) for one in base.ids[links.indices[links.indptr[place] : links.indptr[place + 1]]]]
    frame = None if model is None else model.result.predictions
    known = base.labelled[place] if frame is None else frame["label"][place] is not None
    gone = any(each["op"] == "forget_labels" and node in each["ids"] for each in edits(digest))
    hide, cut, add = st.columns(3)
    with hide:
        why = "" if known and not gone else "Its label is hidden already."
        operation = {"op": "forget_labels", "ids": [node]}
        st.button(
            f"Hide the label of {escape(shown(node, 24))}", on_click=_edit, args=(digest, base, operation),
            disabled=bool(why), help=why or None, key="hide label", width="stretch",
        )  # fmt: skip
    with cut:
        _edge(digest, base, graph, node=node, near=near, what="cut")
    with add:
        _edge(digest, base, graph, node=node, near=near, what="add")


def _edge(digest: str, base: HetData, graph: str, node: str, near: Sequence[str], what: str) -> None:
    """Offer to cut the edge to a neighbour, or to add one to another node."""
    label = "Neighbour to cut off" if what == "cut" else "Node to link to"
    # A list of many thousands is slow in the browser; then the id is typed.
    few = what == "cut" or base.n <= MOST_CHOICES
    if few:
        options = near if what == "cut" else [str(one) for one in base.ids if one != node and one not in set(near)]
        other = st.selectbox(
            label, options, index=None, key=f"{what} {node}", label_visibility="collapsed", placeholder=label
        )
    else:
        other = st.text_input(label, key=f"{what} {node}", label_visibility="collapsed", placeholder=label)
    operation = {"op": "edges", "name": graph, "add": [], "cut": []} | {what: [[node, other]]}
    st.button(
        f"{what.capitalize()} the edge", on_click=_edit, args=(digest, base, operation), disabled=not other,
        key=f"{what} edge", width="stretch",
    )  # fmt: skip


def changed_text(moved: pl.DataFrame, against: str) -> str:
    """Say how many predictions changed, and which most; of classes how many turned, and how many only became surer."""
    first = moved.row(0, named=True)
    top = f"most {shown(first['id'], 40)}, {plain(first['before'])} → {plain(first['after'])}"
    if moved["before"].dtype.is_numeric():
        return f"{counted(moved.height, 'prediction')} changed ({against}): {top}."
    turned = int((moved["before"] != moved["after"]).sum())
    if turned:
        others = f"; {counted(moved.height - turned, 'other')} moved in probability alone" * (turned < moved.height)
        return f"{counted(turned, 'prediction')} turned ({against}): {top}{others}."
    step = f"{first['change']:+.2g}"
    least = f"most {shown(first['id'], 40)}, by {minus(step)}"
    return f"No prediction turned ({against}); {moved.height:,} moved in probability alone, {least}."


def who(moved: pl.DataFrame, against: str) -> None:
    """Say who changed, and list the largest changes."""
    with st.container(key="who"):
        if not moved.height:
            st.success(escape(f"No prediction changed ({against})."))
            return
        if not moved["before"].dtype.is_numeric():  # another class is what matters, however small the step to it
            moved = moved.sort(moved["before"] == moved["after"], maintain_order=True)
        st.success(escape(changed_text(moved, against)))
        if "settled" in moved.columns and (restless := int((~moved["settled"]).sum())):
            st.caption(
                f"{restless:,} of them had not settled before the edit either: they moved on with every sweep, and "
                "their change says little about the edit."
            )
        digits = st.column_config.NumberColumn(format="%.4g")
        columns = {name: digits for name in ("before", "after", "change") if moved[name].dtype.is_numeric()}
        show_table(moved.head(MOST_ROWS), width="stretch", height=240, column_config=columns)
