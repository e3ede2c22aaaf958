"""The studio: `streamlit run app.py` serves it; as a page this is Home."""

from pathlib import Path
from typing import Any

import streamlit as st

from hetcore.data import HetData
from hetcore.data.text import counted
from studio import session, uploads
from studio.advice import Advice, advise
from studio.jobs import manager
from studio.runs import store, table
from studio.server import MIDDLEWARE, ROUTES, why_not
from studio.views.common.widgets import PAGES, escape, frame, show_table

CONSENSUS, DATA, PLAYGROUND = "pages/2_Consensus.py", "pages/1_Data.py", "pages/8_Playground.py"
RUNS = "pages/9_Runs.py"
NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
CARDS = (
    ("Explore", ":material/insights:", "Which sources help, and which only agree? Watch errors and weights round by "
     "round.", CONSENSUS, "Open Consensus"),
    ("Teach", ":material/school:", "A playground of made-up data, and lessons on the live pages: a few steps each, "
     "checked.", PLAYGROUND, "Open the playground"),
    ("Use your data", ":material/upload_file:", "Your own tables and graphs. Ids need not match everywhere, labels may "
     "be few.", DATA, "Bring your data"),
)  # fmt: skip
FIRST = (
    f"Train hides all but a fifth of the labels and makes **{session.OPENING['noisy']}** noisy: watch the error fall, "
    "and the noisy table lose its weight."
)
READINESS = {
    "starting": "Starting the training process. You can press Train already.",
    "compiling": "Compiling, first run only: under half a minute. You can press Train already.",
    "ready": "Ready to train.",
}


@st.cache_resource
def warm_up() -> bool:
    """Start what trainings and uploads need, once for the server."""
    manager.manager()
    # The sandbox forks from a server that has the readers loaded; the first upload would wait for that.
    uploads.warm_up()
    return True


def home() -> None:
    """Draw the page."""
    warm_up()
    st.title("hetcore studio")
    st.markdown("Many tables, some graphs, few labels: **one model that says which source to trust.**")
    opening()
    cards()
    last_runs()


def opening() -> None:
    """Say what is loaded, and offer to train on it."""
    current = session.current()
    with st.container(border=True, key="opening"):
        st.markdown(f"**{escape(current.title)}** is loaded: {loaded(current.data)}.")
        # Not once a person has changed the data: what they made is what they train.
        first = current.example == session.DEFAULT and not st.session_state.get("operations")
        if first:
            st.markdown(FIRST)
        if st.button("Train", type="primary", icon=":material/play_arrow:", key="train_home"):
            # The page that is opened next trains at once: a second press for what was asked here would be one too many.
            st.session_state["train_now"] = True
            # Own data are in the session, and have no name that an address could tell.
            query = {"data": current.example} if current.example else {}
            st.switch_page(CONSENSUS, query_params=query | (session.OPENING if first else {}))
        advice(current.data)
        readiness()


def loaded(data: Any) -> str:
    """Return what data are in one phrase: "five tables and two graphs about 1,797 instances, to predict …"."""
    parts = [several(len(data.sources), "table"), *([several(len(data.graphs), "graph")] if data.graphs else [])]
    known = int(data.labelled.sum())
    if data.target_kind is None:
        note = "nothing to predict yet: choose a label on the Data page"
    elif data.target_kind == "classification":
        names = f"{escape(data.classes[0])} {'or' if len(data.classes) == 2 else 'to'} {escape(data.classes[-1])}"
        note = f"to predict one of {len(data.classes)} classes ({names})"
    else:
        note = f"to predict a number between {data.y[data.labelled].min():.4g} and {data.y[data.labelled].max():.4g}"
    labels = "" if known in (0, data.n) else f", {known:,} with a label"
    return f"{' and '.join(parts)} about {counted(data.n, 'instance')}{labels}, {note}"


def several(count: int, noun: str) -> str:
    """Return a count in words: "five tables"."""
    return counted(count, noun) if count >= len(NUMBERS) else f"{NUMBERS[count]} {noun}{'' if count == 1 else 's'}"


@st.cache_data(max_entries=16, hash_funcs={HetData: HetData.digest}, show_spinner=False)
def advised(data: HetData) -> Advice:
    """Return the method to start with, looked for once for the same data."""
    return advise(data)


def advice(data: HetData) -> None:
    """Say which method suits the data, and why; lead to its page."""
    found = advised(data)
    st.caption(f"Start with {found.method}: {escape(found.text)}.")
    # Advice names its page by the word of the menu; an unknown word leads where all data suit.
    page = next((path for path, name, _ in PAGES if name == found.page), CONSENSUS)
    # Train above leads there already.
    if page != CONSENSUS:
        st.page_link(page, label=f"Open {found.page}", icon=":material/arrow_forward:")


def readiness() -> None:
    """Say how far the training process is; look again each second until it is ready."""
    pending = manager.manager().readiness() != "ready"
    st.fragment(_readiness, run_every=1.0 if pending else None)(pending)


def _readiness(pending: bool) -> None:
    state = manager.manager().readiness()
    # The whole page and not this part: its fragment would look again each second for ever.
    if pending and state == "ready":
        st.rerun()
    icon = ":material/check_circle:" if state == "ready" else ":material/hourglass_top:"
    with st.container(key="readiness"):
        st.caption(f"{icon} {READINESS[state]}")


def cards() -> None:
    """Offer three ways to go on."""
    for column, (title, icon, text, target, link) in zip(st.columns(3), CARDS):
        with column.container(border=True, height="stretch"):
            st.markdown(f"#### {icon} {title}")
            st.markdown(text)
            # Streamlit raises for a link to a page that is not there, and Home would be gone with it.
            if (Path(__file__).parent / target).exists():
                query = session.OWN_FILES if target == DATA else None
                st.page_link(target, label=link, icon=":material/arrow_forward:", query_params=query)


def last_runs() -> None:
    """List the newest runs of the session, or say how to get one."""
    st.subheader("Last runs")
    runs = store.shared().list(session.owner())
    if store.shared().warning:
        st.warning(escape(store.shared().warning), icon=":material/warning:")
    if not runs:
        with st.container(border=True, key="no_runs"):
            st.markdown(":material/history: No runs yet. Press **Train**: what you train is kept here.")
        return
    # A few, for the page of runs has them all.
    show_table(table.table(runs[:5]), key="last_runs", alt="The newest runs")
    text = f"All {counted(len(runs), 'run')}" if len(runs) > 1 else "See it in Runs"
    st.page_link(RUNS, label=text, icon=":material/arrow_forward:")


if __name__ == "__main__":
    frame("Home")
    home()
else:
    # Only where this file is served: as a page it would make a second application.
    from streamlit.starlette import App

    # Said before anything is served: a half configured server must not answer.
    if text := why_not():
        raise SystemExit(text)
    app = App(Path(__file__).resolve(), routes=ROUTES, middleware=MIDDLEWARE)
