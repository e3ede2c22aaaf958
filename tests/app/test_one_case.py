"""The tab of one case: values are changed in a form, the model is asked, and what does not fit is refused in words."""

from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from streamlit.testing.v1 import AppTest

import hetcore as hc
from hetcore import model_files
from hetcore.data import HetData
from studio.jobs import worker_tasks
from studio.jobs.job import FunctionTask, data_of
from studio.views.consensus import case_values, widgets, widgets_case
from tests.jobs.running import PATIENCE

N = 60


@pytest.fixture(scope="module")
def trained():
    rng = np.random.default_rng(0)
    y, ids = rng.integers(0, 2, N), [f"i{k}" for k in range(N)]
    table = pl.DataFrame({"id": ids, "size": y + rng.normal(0, 0.3, N), "kind": np.array(["x", "y"])[y]})
    data = HetData({"<b>one": table}, {}, (ids, np.array(["bad", "good"], object)[y]))
    model = hc.GBCClassifier(n_iterations=3).fit(data)
    predictions = pl.DataFrame({"id": ids, "label": data.y, "prediction": model.predict(data).tolist()})
    return SimpleNamespace(model=model_files.dumps(model), predictions=predictions), data


@pytest.fixture
def page(trained, monkeypatch):
    def asked(study, path, kwargs):
        given = study.given_to_worker() | kwargs
        # Anything else that counts as data would send the question to a worker that has not loaded a thing.
        assert data_of(FunctionTask(path, given)) == {"data": trained[1]}
        return worker_tasks.find_function(path)(**given)

    def app(result, data):
        import streamlit as st

        from studio.views.consensus import widgets_case

        result = st.session_state.get("trained again", result)
        st.fragment(widgets_case.one_case)(result, data, [], "me", lambda like: st.caption(f"Neighbours of {like}"))

    monkeypatch.setattr(widgets_case.Study, "_asked", asked)
    return AppTest.from_function(app, args=trained, default_timeout=PATIENCE).run()


def _predicted(page):
    return next(each.value for each in page.markdown if each.value.startswith("Predicted"))


def test_a_change_of_a_case_stays_for_the_next_model(page, trained):
    page.text_input[0].set_value("-3")
    page = _press(page, "Predict")
    again = model_files.dumps(hc.GBCClassifier(n_iterations=1).fit(trained[1]))
    page.session_state["trained again"] = SimpleNamespace(model=again, predictions=trained[0].predictions)
    before = _predicted(page)
    page = page.run()
    assert "with size = −3" in _predicted(page) != before and page.text_input[0].value == "-3"
    page = _press(page, "As recorded")
    assert "with" not in _predicted(page) and page.text_input[0].value != "-3"


def test_the_column_that_a_case_moves_along_is_in_the_link(page):
    box = next(box for box in page.selectbox if box.label == "Along one column")
    chosen = next(option for option in box.options if option != box.value)
    box.set_value(chosen).run()
    assert page.query_params["column"] in (chosen, [chosen])


def _press(page, label):
    next(button for button in page.button if button.label == label).click()
    return page.run()


def test_a_changed_value_is_predicted_and_taken_back(page, trained):
    assert not page.exception
    before = _predicted(page)
    assert trained[0].predictions["prediction"][0] in before and "its label is **" in before
    first = trained[1].sources["<b>one"].frame["size"][0]
    page.text_input[0].set_value("-3" if first > 0.5 else "3")
    page = _press(page, "Predict")
    assert not page.exception
    assert "with size = " in _predicted(page) and "before" in _predicted(page)
    page = _press(page, "As recorded")
    assert _predicted(page) == before


def test_numbers_in_sentences_have_a_true_minus(page):
    page.text_input[0].set_value("-3")
    page = _press(page, "Predict")
    assert "size = −3" in _predicted(page) and page.text_input[0].value == "-3"
    numbers = SimpleNamespace(probabilities=None, prediction=-1.25)
    source = SimpleNamespace(moments={"day"})
    cells = ("x", -1.25), ("day", "2026-01-02"), ("day", 1), ("x", None)
    shown = [widgets_case._display(source, *cell) for cell in cells]
    assert shown == ["−1.25", "2026-01-02", "1970-01-02", ""]
    assert widgets_case._shown(numbers) == widgets._shown(-1.25) == "−1.25"


def test_what_is_no_number_is_refused_and_nothing_changes(page):
    before = _predicted(page)
    page.text_input[0].set_value("much")
    page = _press(page, "Predict")
    assert "is no number" in page.error[0].value and _predicted(page) == before


def test_each_field_that_does_not_fit_is_named_and_the_others_are_taken():
    fields = ("<b>one", "size"), ("<b>one", "kind"), ("<b>one", "other")
    data = HetData({"<b>one": pl.DataFrame({"id": ["i"], "size": [1.0], "kind": [2.0], "other": [3.0]})}, {})
    record = case_values.record_of(data, "i", {})

    def app(data, record, given):
        import streamlit as st

        from studio.views.consensus import widgets_case

        st.session_state["taken"] = {}
        widgets_case._take(data, record, given, st.session_state["taken"])

    given = dict(zip(fields, ("1,5", "much", "4")))
    page = AppTest.from_function(app, args=(data, record, given), default_timeout=PATIENCE).run()
    assert [each.value.split(" is no")[0] for each in page.error] == ["'1,5'", "'much'"]
    assert page.session_state["taken"] == {"<b>one": {"other": "4"}}


def test_the_nearest_change_is_looked_for_when_asked_and_taken_over(page):
    before = _predicted(page)
    assert "A search over all columns" in " ".join(each.value for each in page.caption)
    page = _press(page, "Nearest change that turns the class")
    assert any("turns to" in each.value for each in page.markdown)
    page = _press(page, "Take it over")
    assert not page.exception
    changed = _predicted(page)
    assert changed.split(",")[0] != before.split(",")[0] and "before" in changed


def test_a_new_one_has_typical_values_and_no_neighbours(page):
    assert any("Neighbours of i0" in each.value for each in page.caption)
    page.selectbox(key="case").set_value(widgets_case.NEW).run()
    assert not page.exception and _predicted(page)
    assert not any("Neighbours" in each.value for each in page.caption)
    assert page.selectbox(key="case value None <b>one · kind").options == ["missing", "x", "y"]


def test_without_a_model_there_is_a_sentence(trained):
    def app(data):
        from types import SimpleNamespace

        from studio.views.consensus import widgets_case

        widgets_case.one_case(SimpleNamespace(model=None, predictions=None), data, [], "me", print)

    page = AppTest.from_function(app, args=(trained[1],), default_timeout=PATIENCE).run()
    assert "no model file" in page.caption[0].value


def test_a_value_that_no_training_row_was_near_has_a_warning(page):
    assert not page.warning
    page.text_input[0].set_value("900")
    page = _press(page, "Predict")
    assert "outside" in page.warning[0].value and "no row was trained" in page.warning[0].value


def test_a_source_keeps_its_colour_where_another_was_dropped(monkeypatch):
    drawn = {}
    monkeypatch.setattr(widgets_case, "chart", lambda figure, key, alt="": drawn.update({key: figure}))
    ids = ["i0", "i1"]
    tables = {name: pl.DataFrame({"id": ids, f"x {name}": [0.0, 1.0]}) for name in "abc"}
    order = widgets_case.colour_order(HetData(tables, {}, (ids, [0.0, 1.0])))
    columns = [("b", "x b", 0.2), ("c", "x c", 0.1)]
    shown = SimpleNamespace(probabilities={}, sources={"b": 0.2, "c": 0.1}, columns=columns, start=0.0, value=0.3)
    widgets_case._contributions(shown, order, "price")
    expected = [widgets_case.basic.style(place)["colour"] for place in (1, 2)]
    assert [each["data"][0]["marker"]["color"] for each in drawn.values()] == [expected] * 2
    assert [each["layout"]["xaxis"]["title"]["text"] for each in drawn.values()] == ["adds (price)"] * 2
