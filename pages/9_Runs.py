"""Runs: what was trained, on what, how well; name, compare, reopen, take away, delete."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl
import streamlit as st

from hetcore.errors import DataError, ParameterError
from hetcore.figures.basic import Figure
from studio import session
from studio.jobs import manager
from studio.runs import compare as run_compare
from studio.runs import export, kept_files, reopening, restoring, store, table
from studio.runs.run import Run
from studio.views.common.widgets import chart, escape, frame, show_table
from studio.views.common.widgets_controls import go_back
from studio.views.common.widgets_downloads import EVERYTHING, ICON, STANDS_ALONE, figure_files

CONSENSUS = "pages/2_Consensus.py"
MOST_COMPARED = 8
SHORT = 28
"""Characters of a run's name in legends and heads of columns."""


def page() -> None:
    """Draw the page."""
    st.markdown("Name, compare, reopen, take away and delete what you trained.")
    # Said in the run after, for the one that did it was cut short to draw the page anew.
    if message := st.session_state.pop("runs_message", ""):
        st.toast(message)
    # Before the warning: reading is what finds damage.
    runs = store.shared().list(session.owner())
    warning()
    if not runs:
        return no_runs()
    show_table(
        table.table(runs), key="runs_table", alt="All runs, newest first",
        column_config={name: st.column_config.TextColumn(width=width) for name, width in table.widths(runs).items()},
    )  # fmt: skip
    chosen = choice(runs)
    if len(chosen) == 1:
        one_run(chosen[0])
    elif chosen:
        compare(chosen)
    else:
        st.info("Choose one run to open it, or several to compare them.", icon=":material/touch_app:")


def warning() -> None:
    """Say what is wrong with the store, and what was lost until somebody says that it was read."""
    if text := store.shared().warning:
        st.warning(escape(text), icon=":material/warning:")
    # A loss is told until somebody says so; the warning of a store that can't be written ends by itself.
    if store.shared().notices:
        st.button("I have read this", on_click=store.shared().dismiss, key="dismiss", icon=":material/done:")


def no_runs() -> None:
    """Say how the first run comes about."""
    with st.container(border=True, key="no_runs"):
        st.markdown("#### :material/history: No runs yet")
        st.markdown("What you train is kept here with its settings, curves, predictions and model.")
        if st.button("Train the first", type="primary", icon=":material/play_arrow:", key="train_first"):
            st.session_state["train_now"] = True
            st.switch_page(CONSENSUS)


def choice(runs: Sequence[Run]) -> list[Run]:
    """Let the person choose runs, the newest at first."""
    by_id = {run.id: run for run in runs}
    # A deleted run may still be chosen, and Streamlit raises for what is no option.
    kept = [run_id for run_id in st.session_state.get("chosen_runs", [runs[0].id]) if run_id in by_id]
    st.session_state["chosen_runs"] = kept
    chosen = st.multiselect(
        "Runs",
        list(by_id),
        key="chosen_runs",
        format_func=lambda run_id: title(by_id[run_id]),
        max_selections=MOST_COMPARED,
        placeholder="Choose one or more",
        help="One opens it; two or more are compared.",
    )
    return [by_id[run_id] for run_id in chosen]


def title(run: Run) -> str:
    """Return what tells a run from the others."""
    return f"{table.label(run)}, {table.result(run)}, {run.created:%d %b %H:%M:%S}"


def one_run(run: Run) -> None:
    """Show a run and what can be done with it."""
    st.subheader(escape(table.label(run)))
    if text := table.unfinished(run):
        st.info(escape(text), icon=":material/info:")
    with st.container(horizontal=True):
        reopen(run)
        rename(run)
        delete(run)
    curves_and_weights([run])
    take_away(run)
    with st.expander("Settings and results", icon=":material/tune:"):
        # Which process trained it tells a restarted studio what it lost; for a person it is noise.
        results = {name: value for name, value in run.results.items() if name != "process"}
        st.json({"settings": run.settings, "results": results}, expanded=2)


def reopen(run: Run) -> None:
    """Offer to open the run on its page with the same data and settings."""
    # By content: files that were kept under another name are the same data.
    kept = kept_files.shared().find(session.owner(), run.digest)
    reason = reopening.why_not(run, session.current().recipe, kept is not None)
    if st.button("Reopen", icon=":material/open_in_new:", disabled=bool(reason), help=reason or None, key="reopen"):
        try:
            # Files may have been removed, and settings be of a later version: each is a sentence, not a trace.
            put_back(run, kept)
        except (DataError, ParameterError, LookupError) as error:
            st.error(escape(error.args[0]))
            return
        st.switch_page(reopening.page_file(run), query_params=address_of(run))


def address_of(run: Run) -> dict[str, str]:
    """Return what the address of the page that opens a run again begins with: its data, and its curves if kept."""
    example, kept = table.example_of(run), session.current().kept
    query = {"data": example} if example else {"data": f"{session.OWN}{kept}"} if kept else {}
    # With its curves where its rounds were kept; without them the page opens with the settings alone.
    owner = session.owner()
    shown = {label: each.id for label, each in restoring.side_by_side(owner, run).items()}
    shown = {label: run_id for label, run_id in shown.items() if restoring.restore(owner, run_id)}
    return query | ({"run": ",".join(shown.values()), "labels": "|".join(shown)} if shown else {})


def put_back(run: Run, kept: str | None) -> None:
    """Take the run's data in use again, kept under a name or in use, and set the controls of its page."""
    # What the page showed is of other settings, and would be taken for this run's.
    for name in [name for name in st.session_state if str(name).startswith(f"live {run.page}")]:
        del st.session_state[name]
    if example := table.example_of(run):
        session.use_example(example)
    elif kept is not None and kept != session.current().kept:
        session.use_kept(kept)
    # Through the session and not around it, so that what depends on the operations follows.
    while session.operations():
        session.undo()
    for operation in reopening.operations(run):
        session.add_operation(operation)
    current = session.current()
    together = list(restoring.side_by_side(session.owner(), run).values())
    values, _ = reopening.screen(together, current.title, current.data.source_names, current.data.graph_names)
    go_back(values, session.operations())


def rename(run: Run) -> None:
    """Offer another name."""
    with st.popover("Rename", icon=":material/edit:"), st.form(f"rename_{run.id}", border=False):
        # A name is text of a person: it is shown escaped wherever it appears.
        name = st.text_input("Name", run.name, max_chars=200, key=f"name_{run.id}")
        if st.form_submit_button("Save name"):
            try:
                store.shared().rename(session.owner(), run.id, name)
            except (DataError, LookupError) as error:
                st.error(escape(error))
                return
            done("Renamed.")


def delete(run: Run) -> None:
    """Offer to delete the run, after a question."""
    with st.popover("Delete", icon=":material/delete:"):
        st.markdown(f"Delete **{escape(table.label(run))}** for good, with its model and predictions?")
        if st.button("Yes, delete", type="primary", key=f"delete_{run.id}"):
            store.shared().delete(session.owner(), run.id)
            # Else a link with its id would open it for as long as the manager keeps what it left.
            manager.manager().forget(run.id, session.owner())
            done("Deleted.")


def done(text: str) -> None:
    """Draw the page again and say what was done."""
    st.session_state["runs_message"] = text
    st.rerun()


def take_away(run: Run) -> None:
    """Offer predictions, model, script and notebook."""
    st.markdown("##### Take away")
    try:
        # Owner and id both: an id alone opens nothing.
        mine = session.owner(), run.id
        offers = table.downloads(run, store.shared().predictions(*mine), store.shared().model(*mine))
    except (DataError, ParameterError, LookupError) as error:
        st.warning(escape(error), icon=":material/warning:")
        return
    with st.container(horizontal=True):
        for text, (name, content, mime) in offers.items():
            st.download_button(
                text, content, name, mime, key=f"take_{text}", icon=":material/download:", on_click="ignore"
            )
        everything(run, session.owner())


def everything(run: Run, owner: str) -> None:
    """Offer the run with its data in one zip, where its data are an example or kept here."""
    # A zip that stands alone needs the data themselves, and those by path are not here.
    if "predictions" not in run.blobs or run.settings.get("whole") or not restoring.has_data(owner, run):
        return

    def content() -> bytes:
        runs = store.shared()
        parts = runs.predictions(owner, run.id), runs.model(owner, run.id), runs.history(owner, run.id)
        return export.bundle(run, restoring.data_of(owner, run), *parts)

    name = export.file_name(table.label(run), "zip")
    st.download_button(
        EVERYTHING, content, name, "application/zip", key="take_everything", icon=ICON, on_click="ignore",
        help=STANDS_ALONE,
    )  # fmt: skip


def numbered(runs: Sequence[Run]) -> dict[str, str]:
    """Return a short name for each run id, told apart by numbers."""
    if len(runs) == 1:
        return {runs[0].id: table.short(runs[0], SHORT)}
    # Numbered, for several runs may have one name, and legends would merge them.
    return {run.id: f"{place}. {name}" for place, (run, name) in enumerate(zip(runs, table.apart(runs, SHORT)), 1)}


def compare(runs: Sequence[Run]) -> None:
    """Show runs beside each other."""
    names = numbered(runs)
    by_name = {names[run.id]: run for run in runs}
    st.subheader(f"{len(runs)} runs side by side")
    show_table(run_compare.summary(by_name), key="side_by_side", alt="The runs and their results")
    differing = run_compare.differing(by_name)
    if differing.is_empty():
        st.markdown("The same settings and the same data.")
    else:
        st.markdown("##### Settings that differ")
        widths, text = run_compare.widths(differing), st.column_config.TextColumn
        # Which setting it is stays in view where the runs are scrolled.
        columns = {name: text(width=width, pinned=name == "setting") for name, width in widths.items()}
        show_table(differing, key="differing", alt="Settings that differ between the runs", column_config=columns)
    curves_and_weights(runs)
    per_instance(by_name)


def curves_and_weights(runs: Sequence[Run]) -> None:
    """Show learning curves on one axis a metric, and weights side by side."""
    names = numbered(runs)
    by_name = {names[run.id]: run for run in runs}
    histories = {names[run.id]: history(run) for run in runs}
    drawn = run_compare.curves(by_name, histories)

    def learned(graphs: bool) -> dict[str, dict[str, float]]:
        each = {name: table.weights(run, graphs) for name, run in by_name.items()}
        return {name: run_compare.in_order(values, histories[name], graphs) for name, values in each.items()}

    # Of the data in use: those of other runs would have to be read for a colour.
    data = session.current().data
    data = data if all(run.digest == data.digest() for run in runs) else None
    # Graphs after sources, as in the colours of every page.
    order = [*data.source_names, *data.graph_names] if data else ()
    weights = {kind: run_compare.weights_figure(learned(kind == "graphs"), order) for kind in ("sources", "graphs")}
    # Most methods weigh sources or graphs, few both.
    weights = {kind: figure for kind, figure in weights.items() if figure}
    # Beside one kind of weights the curves fill their half; of none or two they have the whole width.
    whole = [] if len(weights) == 1 else [st.container()]
    left, *right = [*whole, *(st.columns(2) if weights else ())]
    with left:
        st.markdown("##### Learning curves" if len(runs) > 1 else "##### Learning curve")
        # Error and RMSE on one axis would be compared, and cannot be.
        if len(drawn) > 1:
            st.caption(escape(f"Judged by {' and '.join(drawn)}: each has an axis of its own."))
        for place, (title, figure) in enumerate(drawn.items()):
            chart(figure, f"run_curves_{place}", f"learning curves, {title}")
        if text := run_compare.scored_on(histories):
            st.caption(escape(text))
        if not drawn:
            st.caption(table.why_none(runs, "Not kept."))
        if any(run.page == "Collective" for run in runs):
            st.caption("Collective's rounds are its stages after the first model, which is round 1.")
        for name, run in by_name.items():
            if text := run_compare.kept_model(run, histories[name]):
                st.caption(escape(f"{name}: {text}" if len(runs) > 1 else text))
    draw_weights(runs, weights, right)
    # Both kinds of figures leave in one zip, so that their names have to differ.
    named = {f"weights of {kind}": figure for kind, figure in weights.items()}
    figure_files(drawn | named, "runs", "runs")


def draw_weights(runs: Sequence[Run], weights: Mapping[str, Figure], places: Sequence[Any]) -> None:
    """Draw the weights of each kind in a place of its own, or say why there are none."""
    if not weights:
        st.markdown("##### Weights")
        text = "No weights: these methods learn none, there is one source, or the target alone counts."
        st.caption(table.why_none(runs, text))
    titles = {"sources": "sources and target" if any(map(table.target, runs)) else "sources", "graphs": "graphs"}
    for place, (kind, figure) in zip(places, weights.items()):
        with place:
            st.markdown(f"##### Weights of {titles[kind]}" + (", among themselves" if len(weights) > 1 else ""))
            chart(figure, f"run_weights_{kind}", f"weights of {kind}")


def history(run: Run) -> pl.DataFrame | None:
    """Return the history of a run, None if it has none or it cannot be read."""
    try:
        return store.shared().history(session.owner(), run.id)
    except (DataError, LookupError) as error:
        st.warning(escape(error), icon=":material/warning:")
        return None


def per_instance(runs: Mapping[str, Run]) -> None:
    """Show the instances that the runs see differently."""
    st.markdown("##### Instances that differ")
    try:
        found = {name: store.shared().predictions(session.owner(), run.id) for name, run in runs.items()}
    except (DataError, LookupError) as error:
        st.warning(escape(error), icon=":material/warning:")
        return
    known = {name: frame for name, frame in found.items() if frame is not None}
    # A difference takes two.
    if len(known) < 2:
        st.caption("Predictions were not kept for these runs.")
        return
    differing = run_compare.instances(known)
    st.markdown(escape(run_compare.differing_text(known, differing)))
    if differing.height:
        # A browser draws some hundred rows gladly; the file below has them all.
        show_table(differing.head(500), key="per_instance", alt="Predictions that differ")
        st.download_button("Differences (CSV)", export.csv(differing), "differences.csv", "text/csv", on_click="ignore")


frame("Runs")
page()
