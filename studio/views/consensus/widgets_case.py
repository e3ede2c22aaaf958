"""The tab that edits one case: what is predicted of it, what adds to that, how it moves, what would turn it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl
import streamlit as st

from hetcore.data import HetData, Source
from hetcore.errors import DataError
from hetcore.figures import basic
from studio import scenarios
from studio.jobs import manager as jobs
from studio.messages import minus
from studio.views.common.widgets import chart, escape, number, show_table
from studio.views.common.widgets_controls import asked_choice, in_link
from studio.views.consensus import case_values, new_rows
from studio.views.consensus.case_nearest import Turned
from studio.views.consensus.widgets import UNIT, WORST_FIRST, wrong_first

__all__ = ["Study", "one_case", "study_of", "trained_on"]

NEW = "a new one, of typical values"
EDITS = "case edits"
"""In the session: the data and the last model asked, and by instance the values changed, by source and column."""
ANSWERS = "case answers"
DATA = "case data"
MOST_IDS, MOST_ANSWERS = 1_000, 40
BARS = 12
"""Columns whose contributions have a bar of their own."""
OFFERED = 4
GREY = "#717581"
PATIENCE = 90.0
Values = dict[str, dict[str, Any]]


class Study(NamedTuple):
    """Who is asked about a case: a model, among its data.

    Attributes
    ----------
    model : bytes
        Of a consensus of `hetcore`.
    data : HetData
        After the what-ifs of the training.
    owner : str
        Who asks.
    given : HetData or None
        Before the what-ifs, which are `operations`; None for `data`.
    operations : sequence of dict
        The what-ifs.
    """

    model: bytes
    data: HetData
    owner: str
    given: HetData | None = None
    operations: Sequence[Mapping[str, Any]] = ()

    def ask(self, path: str, like: str | None, values: Values, **more: Any) -> Any:
        """Return what a worker answers of a case, None where it can't; the same question is asked once."""
        # As pairs: a mapping counts as data which no worker has yet.
        return self.ask_of_all(path, like=like, values=tuple(values.items()), **more)

    def ask_of_all(self, path: str, **kwargs: Any) -> Any:
        """Return what a worker answers of the data, None where it can't; the same question is asked once."""
        # The data by identity: a what-if makes new ones.
        stamp = (repr((path, kwargs)), hash(self.model), id(self.data))
        answers = st.session_state.setdefault(ANSWERS, {})
        if stamp not in answers:
            found = self._asked(path, kwargs)
            # Not kept, so that the question is asked again when the workers are free.
            if found is None:
                return None
            answers[stamp] = found
            # The oldest go: dictionaries keep the order of what came.
            while len(answers) > MOST_ANSWERS:
                answers.pop(next(iter(answers)))
        return answers[stamp]

    def _asked(self, path: str, kwargs: dict[str, Any]) -> Any:
        try:
            run = jobs.manager().run_task(path, self.given_to_worker() | kwargs, self.owner)
        except ValueError as error:
            st.error(escape(error))
            return None
        with st.spinner("Asking the model …"):
            # Waited for within the page's run: an answer takes seconds, and there is nothing else to show meanwhile.
            status = jobs.manager().wait(run, timeout=PATIENCE)
        result = jobs.manager().result(run)
        if status.state == "finished" and result is not None:
            return result.value
        # The question is given up, so that it does not hold a worker for nobody.
        jobs.manager().stop(run)
        st.error(escape(status.message or "The workers are busy: stop a training, or try again."))
        return None


    def given_to_worker(self) -> dict[str, Any]:
        """Return model and data as a worker takes them: the data that it holds since the training, and the what-ifs.

        Other data could go to a worker that has loaded nothing yet, which takes half a minute where cores are busy.
        """
        if self.given is None:
            return {"model": self.model, "data": self.data}
        return {"model": self.model, "data": self.given, "operations": list(self.operations)}


def one_case(
    result: Any, data: HetData, operations: Sequence[Mapping[str, Any]], owner: str, neighbours: Callable[[str], None]
) -> None:
    """Let the person edit an instance, or a new one, and see what the model says of it.

    Parameters
    ----------
    result : RunResult
        Of a consensus.
    data : HetData
        Before the what-ifs of the training.
    operations : sequence of dict
        What-ifs of the training.
    owner : str
    neighbours : callable
        Draws the neighbours of an instance.
    """
    study, order = study_of(result, data, operations, owner), colour_order(data)
    if study is None:
        return
    edits = _edits(data, hash(result.model))
    data = study.data
    ids = wrong_first(result.predictions, MOST_IDS)
    # The first instance and not the new case, which has no label to compare with.
    options = [NEW, *ids]
    chosen = st.selectbox("Case", options, asked_choice("case", options, 1), help=WORST_FIRST, **in_link("case"))
    like = None if chosen == NEW else chosen
    values: Values = edits.setdefault(like, {})
    for name in values.keys() - data.sources.keys():
        del values[name]
    recorded = study.ask("studio.views.consensus.case:explain", like, {})
    if recorded is None:
        return
    _form(data, recorded, like, values)
    shown = study.ask("studio.views.consensus.case:explain", like, values) if values else recorded
    if shown is None:
        return
    _sentence(data, recorded, shown, values, _label(result.predictions, like))
    _unfamiliar(data, values)
    _contributions(shown, order, basic.label_title(data, UNIT))
    left, right = st.columns(2)
    with left:
        _along(study, shown, like, values)
    with right:
        if shown.probabilities:
            _nearest(study, like, values)
    if like is not None:
        neighbours(like)


def _edits(data: HetData, model: int) -> dict[str | None, Values]:
    """Return what was changed of each case of the data before what-ifs; another model is asked of the same case."""
    kept = st.session_state.get(EDITS)
    if kept is None or kept["data"] is not data:
        kept = st.session_state[EDITS] = {"data": data, "model": None, "cases": {}}
    if kept["model"] != model:
        kept["model"] = model
        # Filled anew with the edits: they would show the values of the last training's data, noise and all.
        for key in [key for key in st.session_state if str(key).startswith("case value ")]:
            del st.session_state[key]
    return kept["cases"]


def colour_order(data: HetData) -> list[str]:
    """Return sources and graphs in the order of their colours; of the data before anything was dropped."""
    # A graph may be called like a source, and is then told apart as the contributions tell it.
    return [*data.source_names, *(f"graph {name}" if name in data.sources else name for name in data.graph_names)]


def study_of(result: Any, data: HetData, operations: Sequence[Mapping[str, Any]], owner: str) -> Study | None:
    """Return who is asked about a run's model, among what it was trained on; say it where there is no model."""
    if result.model is None or result.predictions is None:
        st.caption("This method has no model file to ask.")
        return None
    return Study(result.model, trained_on(data, operations), owner, data, operations)


def trained_on(data: HetData, operations: Sequence[Mapping[str, Any]]) -> HetData:
    """Return the data after the what-ifs of a training, the same object as long as neither changes."""
    kept = st.session_state.get(DATA)
    if kept is None or kept[0] is not data or kept[1] != operations:
        applied = scenarios.apply(data, list(operations)).data
        kept = st.session_state[DATA] = (data, list(operations), applied)
    return kept[2]


def _columns(recorded: Any, data: HetData) -> dict[str, tuple[str, str]]:
    """Return what can be edited by the name that it is shown under, what adds most first."""
    held = [(source, column) for source, column, _ in recorded.columns if column]
    known = set(held)
    held += [(name, column) for name, source in data.sources.items() if source.frame is not None and name in
             {each for each, *_ in recorded.columns} for column in source.frame.columns
             if (name, column) not in known]  # fmt: skip
    return {f"{source} · {column}": (source, column) for source, column in held}


def _form(data: HetData, recorded: Any, like: str | None, values: Values) -> None:
    """Draw the values of some columns, to be changed together."""
    columns = _columns(recorded, data)
    if not columns:
        st.caption("This case has no column that can be changed.")
        return
    key = f"case columns {like}"
    # The columns that add most come first, and a few of them at once.
    picked = st.multiselect("Columns to change", list(columns), list(columns)[:OFFERED], key=key,
                            help="Those that add most to the prediction come first.")  # fmt: skip
    record = case_values.record_of(data, like, values)
    # A form, or each field that is left would ask the model anew.
    with st.form(f"case form {like}", border=False):
        with st.container(horizontal=True, vertical_alignment="bottom"):
            given = {columns[name]: _field(data, record, columns[name], name, like) for name in picked}
        with st.container(horizontal=True):
            pressed = st.form_submit_button("Predict", type="primary", icon=":material/bolt:")
            back = "As recorded" if like else "Typical values"
            st.form_submit_button(back, on_click=_forget, args=(like, list(columns), values))
    if pressed:
        _take(data, record, given, values)


def _forget(like: str | None, names: Sequence[str], values: Values) -> None:
    """Give a case its own values back, in its fields too."""
    values.clear()
    for name in names:
        st.session_state.pop(f"case value {like} {name}", None)


def _field(data: HetData, record: Any, column: tuple[str, str], name: str, like: str | None) -> Any:
    """Draw the field of a column: text for numbers, so that it can be empty, and a choice for levels."""
    source = data.sources[column[0]]
    now = record[column[0]][column[1]][0] if column[0] in record else None
    key, series = f"case value {like} {name}", source.frame[column[1]]
    if series.dtype.is_nested():
        st.text_input(escape(name), "numbers", key=key, disabled=True, width=150)
        return now
    if source.kinds[column[1]] in ("real", "text") or series.dtype.is_numeric():
        # As text, for a number field cannot be empty, and empty means missing.
        shown = case_values.as_written(source, column[1], now)
        return st.text_input(escape(name), shown, key=key, width=150, placeholder="missing")
    levels = [None, *series.drop_nulls().unique().sort().head(200).to_list()]
    # A value that is rarer than those listed, such as the case's own.
    levels += [now] if now not in levels else []
    return st.selectbox(escape(name), levels, levels.index(now), key=key, width=150, format_func=_level)


def _level(value: Any) -> str:
    return "missing" if value is None else str(value)


def _display(source: Source, column: str, value: Any) -> str:
    """Return a value as it is shown, and not typed: where it begins with a minus, with a true one."""
    # What was typed is a text already.
    text = value if isinstance(value, str) else case_values.as_written(source, column, value)
    return minus(text) if text.startswith("-") else text


def _take(data: HetData, record: Any, given: Mapping[tuple[str, str], Any], values: Values) -> None:
    """Take the fields that differ from the case over into its values; say what does not fit."""
    for (source, column), value in given.items():
        now = record[source][column][0] if source in record else None
        # A field shows fewer digits than there are: what was not touched must not change the case.
        if value == now or value == case_values.as_written(data.sources[source], column, now):
            continue
        try:
            case_values.read_value(data.sources[source], column, value)
        except DataError as error:
            st.error(escape(error))
            continue
        values.setdefault(source, {})[column] = value


def _unfamiliar(data: HetData, values: Values) -> None:
    """Warn of changed values that no row of the training was near, as for new rows."""
    for text in new_rows.unfamiliar(data, values):
        st.warning(escape(text), icon=":material/difference:")


def _label(predictions: Any, like: str | None) -> Any:
    """Return the label of an instance, hidden in training or not; None where it is not known."""
    row = predictions.filter(predictions["id"] == (like or "")).head(1).to_dicts()
    known = [row[0].get(name) for name in ("label", "held_out")] if row else []
    return next((value for value in known if value is not None), None)


def _sentence(data: HetData, recorded: Any, shown: Any, values: Values, label: Any) -> None:
    """Say what is predicted, what was before the changes, and what its label is."""
    sentence = f"Predicted **{escape(_shown(shown))}**"
    pairs = [(column, _display(data.sources[name], column, value)) for name, each in values.items()
             for column, value in each.items()]  # fmt: skip
    if pairs:
        text = ", ".join(f"{escape(column)} = {escape(shown_as or 'missing')}" for column, shown_as in pairs[:6])
        # So many fit into a sentence.
        sentence += f" with {text}{' …' if len(pairs) > 6 else ''}; before {escape(_shown(recorded))}"
    if label is not None:
        sentence += f"; its label is **{escape(number(label, digits=4) if isinstance(label, float) else label)}**"
    st.markdown(f"{sentence}.")


def _shown(explained: Any) -> str:
    if explained.probabilities:
        return f"{explained.prediction}, {explained.probabilities[explained.prediction]:.1%}"
    return number(explained.prediction, digits=4)


def _contributions(shown: Any, order: Sequence[str], label: str) -> None:
    """Draw what sources and columns add to a class or to the numbers `label`, each source in its colour in `order`."""
    classes = bool(shown.probabilities)
    left, right = st.columns(2)
    with left:
        st.caption(f"By source and graph: what each adds to the {'score' if classes else 'prediction'}")
        figure = basic.contributions(shown.sources, order, "score" if classes else label)
        chart(figure, "case sources", "contributions by source")
    with right:
        scale, unit = (100.0, "points") if classes else (1.0, label)
        start = f"{shown.start:.1%}" if classes else number(shown.start, digits=4)
        end = f"{shown.value:.1%}" if classes else number(shown.value, digits=4)
        st.caption(f"By column: others' values give {start} on average; all bars together make it {end}")
        bars = {_name(source, column): scale * adds for source, column, adds in shown.columns[:BARS]}
        rest = shown.columns[BARS:]
        if rest:
            bars[f"{len(rest)} others"] = scale * sum(adds for *_, adds in rest)
        figure = basic.contributions(bars, ["-"], unit)
        colours = [basic.style(order.index(source))["colour"] for source, *_ in shown.columns[:BARS]]
        figure["data"][0]["marker"]["color"] = colours + [GREY] * bool(rest)
        chart(figure, "case columns", "contributions by column")


def _name(source: str, column: str) -> str:
    return f"{source} · {column}" if column else source


def _along(study: Study, shown: Any, like: str | None, values: Values) -> None:
    """Draw what is predicted along a column."""
    columns = {_name(source, column): (source, column) for source, column, _ in shown.columns if column}
    if not columns:
        return
    look = in_link("column", f"case along {like}")
    name = st.selectbox("Along one column", list(columns), asked_choice("column", list(columns)), **look)
    source, column = columns[name]
    found = study.ask("studio.views.consensus.case:along", like, values, of=(source, column))
    if found is None:
        return
    points, curves = found
    title = "probability" if shown.probabilities else "prediction"
    if points and isinstance(points[0], int | float) and not isinstance(points[0], bool):
        figure = basic.lines(points, curves, column, title)
        if column in study.data.sources[source].moments:
            for trace in figure["data"]:
                trace["x"] = [case_values.as_written(study.data.sources[source], column, float(x)) for x in trace["x"]]
            figure["layout"]["xaxis"]["type"] = "date"
        if shown.probabilities:
            figure["layout"]["yaxis"] |= {"range": [0, 1.02]}
    else:
        likely = shown.prediction if shown.probabilities else "prediction"
        curve = curves.get(likely, next(iter(curves.values())))
        title = f"probability of {likely}" if shown.probabilities else title
        figure = basic.bars(dict(zip(map(str, points), curve)), title, ["-"])
    chart(figure, "case along chart", f"prediction along {column}")


def _nearest(study: Study, like: str | None, values: Values) -> None:
    """Look for the nearest change that turns the class, when asked."""
    key = f"case nearest {like}"
    if st.button("Nearest change that turns the class", key="nearest change", icon=":material/swap_calls:"):
        # Kept with the values that it was asked for, so that another value takes the answer away.
        st.session_state[key] = repr(values)
    if st.session_state.get(key) != repr(values):
        st.caption("A search over all columns: some seconds.")
        return
    found: Turned | None = study.ask("studio.views.consensus.case_nearest:nearest", like, values)
    if found is None:
        return
    if not found.changes:
        st.caption(f"No change of a few columns was found that turns {escape(found.before)}.")
        return
    st.markdown(f"**{escape(found.before)}** turns to **{escape(found.after)}** ({found.probability:.1%}) with:")
    rows = []
    for each in found.changes:
        before, after = (_display(study.data.sources[each.source], each.column, at) for at in (each.before, each.after))
        rows.append({"column": _name(each.source, each.column), "from": before, "to": after})
    show_table(pl.DataFrame(rows), width="stretch", alt="The change that turns the class")
    st.button("Take it over", key="take nearest", on_click=_take_over, args=(found, like, values))


def _take_over(found: Turned, like: str | None, values: Values) -> None:
    for each in found.changes:
        values.setdefault(each.source, {})[each.column] = each.after
        # The field would otherwise keep what was typed before.
        st.session_state.pop(f"case value {like} {_name(each.source, each.column)}", None)
