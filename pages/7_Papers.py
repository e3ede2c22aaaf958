"""Papers: pick a figure or table, read what it claims, run it, and see whether it holds here."""

from __future__ import annotations

import time

import streamlit as st

import experiments
from studio import session
from studio.views.common.widgets import frame
from studio.views.common.widgets_controls import SETTLED
from studio.views.papers import catalog
from studio.views.papers.widgets import claim, downloads, found, progress

PAPER, FIGURE = "paper", "figure or table"
WRITTEN = "part written"
"""In the session: the part that the address was given last, and when."""

frame("Papers")
owner = session.owner()
names_of = catalog.by_paper()


def chosen() -> None:
    """Say no longer what the address asked for in vain."""
    session.note("part", "")


def choose() -> str:
    """Draw the choice of a paper and of one of its figures and tables; it is in the URL."""
    state, there = st.session_state, list(names_of)
    written, at = state.get(WRITTEN, (None, 0.0))
    # In the address, so that a link leads to one figure. A choice made just now may come with the address of before.
    asked = st.query_params.get("part")
    if FIGURE not in state or (asked != written and time.monotonic() - at > SETTLED):
        state[FIGURE] = asked if asked in experiments.names() else catalog.first()
        state[PAPER] = catalog.paper_of(state[FIGURE])
        if asked is not None and asked != state[FIGURE]:
            text = "There is no figure or table of the name in the address: the first is shown, choose another."
            session.note("part", text)
    left, right = st.columns([1, 2])
    with left:
        paper = st.selectbox(
            "Paper", there, key=PAPER, format_func=catalog.short, on_change=chosen,
            help="Five lines of research on boosting for heterogeneous data.",
        )  # fmt: skip
    # Another paper was chosen: its first part, for the one before is not of it.
    if state[FIGURE] not in names_of[paper]:
        state[FIGURE] = names_of[paper][0]
    with right:
        name = st.selectbox(
            "Figure or table", names_of[paper], key=FIGURE, format_func=catalog.titled, on_change=chosen,
            help="What the paper shows; run it on this machine.",
        )  # fmt: skip
    if name != written:
        state[WRITTEN] = name, time.monotonic()
    st.query_params["part"] = name
    return name


st.caption("Pick what a paper shows, run it on this machine, and see whether what it claims holds here.")
name = choose()
claim(experiments.info(name))
run_id = catalog.run_of(st.session_state, name, owner)
active = catalog.active(run_id)
so_far = catalog.so_far(st.session_state, name)
left = so_far.total - so_far.cells.height
with st.container(horizontal=True):
    # One button: what is finished is kept, so that to go on and to begin are the same call.
    text = "Run" if not so_far.cells.height else "Go on" if left else "Done"
    help_ = f"{left} of {so_far.total} fits are left{catalog.about(so_far.seconds)}. What is finished is kept."
    if st.button(text, type="primary", disabled=active or not left, help=help_, key="run_paper"):
        catalog.start(st.session_state, name, owner)
        st.rerun()
    if so_far.cells.height:
        again = "Forget what was finished and run it anew."
        if st.button("Run anew", disabled=active, help=again):
            # Before the start: a run takes what is finished as done, and would do nothing.
            catalog.forget(name)
            catalog.start(st.session_state, name, owner)
            st.rerun()
if not active and left:
    st.caption(f"{left} of {so_far.total} fits to do{catalog.about(so_far.seconds)}; pause or stop whenever you like.")


@st.fragment(run_every=1.5 if active else None)
def watch() -> None:
    """Draw how far it is, the figure so far and the verdict."""
    # Read anew at each look, for a worker writes cells meanwhile.
    now = catalog.so_far(st.session_state, name)
    if run_id is not None:
        progress(run_id, now)
    found(now, active)
    # The buttons above have to change with the end, and they are not of this fragment.
    if active and not catalog.active(run_id):
        st.rerun()


watch()
if not active and so_far.cells.height:
    downloads(catalog.so_far(st.session_state, name))
with st.expander("The code of this run, and all seeds from a shell"):
    st.code(f'import experiments\n\nprint(experiments.run("{name}", "page").verdict)', language="python")
    st.code(f"python -m experiments {name}", language="sh")
    st.caption(
        "The page and the code run a few seeds. The command runs them all, spreads them with --cluster, and goes on "
        "after a stop."
    )
