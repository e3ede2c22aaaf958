"""The Transfer page, pages/4_Transfer.py: it refuses what are no domains, trains methods side by side, measures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from streamlit.testing.v1 import AppTest

from studio.jobs import manager
from tests.app.opened_again import opened_again
from tests.jobs.running import PATIENCE

ROOT = Path(__file__).resolve().parents[2]
CSV = "text/csv"


def table(seed: int, n: int = 40) -> bytes:
    """Return a domain as CSV: the class is the sign of the first column."""
    X = np.random.default_rng(seed).normal(size=(n, 3))
    frame = pl.DataFrame(X, schema=["a", "b", "c"])
    return frame.with_columns(pl.Series("class", np.where(X[:, 0] > 0, "u", "v"))).write_csv().encode()


def started() -> AppTest:
    return AppTest.from_file(str(ROOT / "app.py"), default_timeout=PATIENCE).run()


def uploaded(**rows: int) -> AppTest:
    """The page on uploaded tables of the same columns, of so many rows each, as it opens."""
    at = started().switch_page("pages/1_Data.py").run()
    files = [(f"{name}.csv", table(seed, n), CSV) for seed, (name, n) in enumerate(rows.items())]
    at = at.file_uploader[0].set_value(files).run()
    at = next(button for button in at.button if button.label == "Use this data").click().run()
    assert len(at.error) == len(rows) and "predicts the label alone" in at.error[0].value
    at = next(button for button in at.button if button.label == "Use them as they are").click().run()
    assert not at.exception and not at.error
    assert "Train on it: Transfer" in [each.proto.label for each in at.get("page_link")]
    return at.switch_page("pages/4_Transfer.py").run()


@pytest.fixture
def opened() -> AppTest:
    """The page on three of them."""
    return uploaded(home=40, near=40, far=40)


@pytest.fixture
def page(opened: AppTest) -> AppTest:
    """The same with three examples of each class, as of an example."""
    return opened.slider(key="examples").set_value(3).run()


def trained(page: AppTest) -> AppTest:
    page.button(key="train").click().run()
    return ended(page)


def ended(page: AppTest) -> AppTest:
    for run in page.session_state["live Transfer"].runs.values():
        status = manager.manager().wait(run, timeout=PATIENCE)
        assert status.state == "finished", status.message
    page = page.run()
    assert not page.exception
    return page


def again(page: AppTest) -> AppTest:
    """Train a changed setting, unless its estimate was short enough to train at once."""
    if "with these settings" in page.button(key="train").label:
        page.button(key="train").click().run()
    return ended(page)


def words(page: AppTest) -> str:
    return " ".join(element.value for element in (*page.success, *page.caption, *page.markdown, *page.warning))


def test_tables_of_the_same_instances_get_a_sentence_and_examples_that_fit():
    page = started().switch_page("pages/4_Transfer.py").run()
    assert not page.exception
    assert "the same instances" in page.info[0].value
    assert [button.label for button in page.button][0] == "Use Planted domains"
    assert not page.slider


@pytest.mark.slow
def test_a_fresh_session_trains_the_example_and_keeps_its_choices():
    page = started().switch_page("pages/4_Transfer.py").run()
    page = ended(page.button(key="use planted_domains").click().run())
    kept = ["kin", "cousin", "stranger", "hostile"], ["Blend", "No transfer", "Weighted MultiSource"]
    assert (page.multiselect(key="teachers").value, page.multiselect(key="methods").value) == kept
    page = again(page.slider(key="examples").set_value(20).run())
    assert (page.multiselect(key="teachers").value, page.multiselect(key="methods").value) == kept
    assert len(page.metric) == 3
    assert "left-out rows η" in words(page).replace("\\", "")  # the curve behind the slider, in words


def test_uploaded_domains_are_ready_and_nothing_trains_unasked(opened):
    assert not opened.exception
    assert opened.selectbox(key="target").value == "home"
    assert opened.multiselect(key="teachers").value == ["near", "far"]
    # four fifths of what the rarer class can give; one of its rows is left to be scored
    assert (opened.slider(key="examples").value, opened.slider(key="examples").max) == (14, 18)
    assert "n_T = 28" in words(opened).replace("\\", "")
    assert "live Transfer" not in opened.session_state


def test_of_own_tables_the_one_with_the_fewest_labels_is_the_target_at_first():
    page = uploaded(many=60, few=30)
    assert (page.selectbox(key="target").value, page.multiselect(key="teachers").value) == ("few", ["many"])


@pytest.mark.slow
def test_methods_train_side_by_side_and_the_wrong_rows_come_first(page):
    page = trained(page)
    assert [metric.label for metric in page.metric] == ["Blend", "No transfer", "Weighted MultiSource"]
    assert all(float(metric.value.rstrip("%")) > 40 for metric in page.metric)
    drawn = {trace["name"]: trace["x"] for trace in page.session_state["transfer drawn"]["accuracy"]["data"]}
    assert len(drawn["No transfer"]) == 2 and drawn["No transfer"][1] == max(drawn["Weighted MultiSource"])
    assert page.selectbox(key="mass_of").value == "Weighted MultiSource"
    page.selectbox(key="mass_of").set_value("Blend").run()
    assert opened_again(page, "4_Transfer.py").selectbox(key="mass_of").value == "Blend"
    wrong = page.dataframe[0].value["wrong"].to_list()
    assert len(wrong) == 34 and wrong == sorted(wrong, reverse=True)
    page.session_state["after"] = "Take away"
    labels = {each.proto.label for each in page.run().get("download_button")}
    assert labels >= {"Predictions (CSV)", "Figure (HTML)", "Script", "Notebook"}
    assert "hc.TransferClassifier" in page.code[0].value


@pytest.mark.slow
def test_a_corrupted_source_is_reported_beside_the_run_before(page):
    page = trained(page)
    page = again(page.selectbox(key="corrupted").set_value("near").run())
    page = again(page.slider(key="corrupted_share").set_value(80).run())
    text = page.success[0].value.replace("\\", "")
    assert "with 80% of the labels of near flipped" in text and text.count("error") == 3


@pytest.mark.slow
def test_a_change_trains_the_methods_that_it_is_of_and_the_others_stand(page):
    page = trained(page)
    before = page.session_state["live Transfer"].runs
    page.select_slider(key="eta").set_value(20.0).run()
    page = again(page)
    after = page.session_state["live Transfer"].runs
    assert [label for label in after if after[label] != before[label]] == ["Weighted MultiSource"]
    sentence = page.success[0].value
    assert sentence.startswith("Weighted MultiSource") and sentence.count("error") == 1
    page = trained(page)  # pressed without a change, all are trained anew
    assert not set(page.session_state["live Transfer"].runs.values()) & set(after.values())


@pytest.mark.slow
def test_the_curve_of_eta_goes_where_other_settings_than_eta_are_chosen(page):
    page.multiselect(key="methods").set_value(["Weighted MultiSource"]).run()
    page = trained(page.slider(key="transfer_rounds").set_value(5).run())
    page.session_state["live Transfer"].durations.clear()  # no estimate: nothing trains by itself
    curve = "left-out rows η"
    assert curve in words(page.select_slider(key="eta").set_value(20.0).run()).replace("\\", "")
    for key, value, first in (("update", "multiplicative", "exponential"), ("eta_on", "source", "as usual")):
        page.selectbox(key=key).set_value(value).run()
        assert curve not in words(page).replace("\\", "")
        assert curve in words(page.selectbox(key=key).set_value(first).run()).replace("\\", "")
    assert curve not in words(page.slider(key="transfer_rounds").set_value(20).run()).replace("\\", "")
    assert not page.exception


def test_eta_is_the_formulas_or_by_hand(page):
    assert page.select_slider(key="eta").value == 0.2  # before a training: where no rows leave it
    # Nobody is told to choose what is chosen.
    asked, captions = "Train with η “by left-out rows”", [caption.value for caption in page.caption]
    assert any("once it is measured" in each for each in captions) and not any(asked in each for each in captions)
    page.selectbox(key="eta_rule").set_value("linear").run()
    assert any(asked in caption.value for caption in page.caption)
    assert page.select_slider(key="eta").value == 10.0  # 100 n_T / n_S = 7.5
    page.select_slider(key="eta").set_value(20.0).run()
    assert page.selectbox(key="eta_rule").value == "by hand"  # who moves the slider means it
    page.button(key="train").click().run()
    setting = page.session_state["live Transfer"].settings["Weighted MultiSource"]
    assert setting.params["eta"] == 20.0
    assert not page.exception


def test_without_a_source_or_a_method_there_is_a_sentence_and_no_button(page):
    page.multiselect(key="teachers").set_value([]).run()
    assert "at least one domain" in page.warning[0].value and page.button(key="train").disabled
    assert not page.info  # nobody is asked to press what is pale
    page.multiselect(key="teachers").set_value(["near"]).run()
    page.multiselect(key="methods").set_value([]).run()
    assert "No method" in page.warning[0].value and page.button(key="measure").disabled
    assert not page.exception


def test_what_cannot_be_trained_is_compared_with_nothing_and_nobody_is_asked_to_train_it(page):
    page = trained(page.multiselect(key="methods").set_value(["No transfer"]).run())
    page.multiselect(key="teachers").set_value([]).run()
    assert [each.value for each in page.info] == ["What is shown was trained with other settings."]
    page.button(key="back").click().run()
    assert page.multiselect(key="teachers").value == ["near", "far"] and not page.info


def test_a_parameter_is_a_control_where_a_chosen_method_takes_it(page):
    def drawn() -> set[str]:
        keys = {each.key for each in (*page.slider, *page.selectbox)}
        return keys & {"transfer_rounds", "transfer_depth", "update", "eta_on"}

    assert drawn() == {"transfer_rounds", "update", "eta_on"}
    page.multiselect(key="methods").set_value(["TrAdaBoost"]).run()
    assert drawn() == {"transfer_rounds", "transfer_depth"}
    page.slider(key="transfer_depth").set_value(3).run()
    page.multiselect(key="methods").set_value(["Blend", "No transfer"]).run()
    assert not drawn() and page.number_input(key="transfer_seed").value == 0
    page.multiselect(key="methods").set_value(["TrAdaBoost"]).run()
    assert page.slider(key="transfer_depth").value == 3 and not page.exception


def test_a_column_in_another_unit_is_reported_before_training(page, monkeypatch):
    assert not any("another unit" in each.value for each in page.caption)
    page.session_state["transfer units"] = (None,)
    # what counts as one is tested in tests/studio/test_transfer_logic.py
    monkeypatch.setattr("studio.views.transfer.domains.other_units", lambda *_: "That is another unit.")
    assert any("That is another unit" in each.value for each in page.run().caption)


def test_the_curve_is_measured_in_the_background_and_evaluated(page):
    page.slider(key="draws").set_value(2).run()
    page.multiselect(key="methods").set_value(["No transfer", "MultiSource"]).run()
    page.button(key="measure").click().run()
    run = page.session_state["transfer curve"]["run"]
    assert manager.manager().wait(run, timeout=PATIENCE).state == "finished"
    page = page.run()
    assert not page.exception
    assert "MultiSource" in page.success[0].value and "points at" in page.success[0].value
    assert any("Band:" in each.value for each in page.caption)
    assert not any("Pale" in each.value for each in page.caption)  # there is no curve before
    assert len(manager.manager().result(run).value) == 2 * 2 * 7  # sizes 1, 2, 3, 5, 7, 10, 15


def test_a_curve_that_a_link_asks_for_in_vain_is_named():
    page = started().switch_page("pages/4_Transfer.py")
    page.query_params["data"], page.query_params["curve"] = "planted_domains", "of another person"
    page = page.run()
    assert not page.exception and "The curve of the link is not kept here" in page.warning[0].value
    assert "curve" not in page.query_params and "transfer curve" not in page.session_state


def test_what_the_data_page_hid_is_no_domain_here(page):
    page.session_state["operations"] = [{"op": "drop_source", "name": "home"}]
    page.run()
    assert not page.exception
    assert page.selectbox(key="target").value == "near" and page.multiselect(key="teachers").value == ["far"]
    page = trained(page)
    assert len(page.metric) == 3


def test_a_domain_that_is_back_teaches_again_and_one_that_was_switched_off_stays_off():
    page = started()
    page.session_state["example"] = "planted_domains"
    page = page.switch_page("pages/4_Transfer.py").run()
    teachers = page.multiselect(key="teachers").value
    page.multiselect(key="teachers").set_value(teachers[:-1]).run()
    for gone in (teachers[:1], []):
        page.session_state["operations"] = [{"op": "drop_source", "name": name} for name in gone]
        page.run()
        assert not page.exception
        assert page.multiselect(key="teachers").value == teachers[len(gone) : -1]
        assert page.multiselect(key="teachers").options == teachers[len(gone) :]


def _masses(labels):
    import polars as pl

    from hetcore.data import HetData
    from hetcore.events import RoundEnd
    from studio.views.transfer import widgets

    table = pl.DataFrame({"id": ["a", "b"], "x": [0.0, 1.0]})
    data = HetData({"near": table, "far": table}, {}, (["a", "b"], ["u", "v"]))
    event = RoundEnd("x", 0, 1, {}, {"far": 0.5}, detail={"target_mass": 0.5})
    widgets._mass({label: [event] for label in labels}, data, "near", {}, 1)


def test_the_method_whose_weights_are_drawn_first_is_so_in_the_browser_too():
    page = AppTest.from_function(_masses, args=(["Blend", "Weighted MultiSource"],), default_timeout=PATIENCE).run()
    box = page.selectbox(key="mass_of")
    assert not page.exception and box.value == "Weighted MultiSource" and box.proto.default == 1
    assert not box.proto.set_value  # whoever misses one answer of the server shows the same
    box.set_value("Blend").run()
    assert "source: Blend" in page.caption[0].value
    page = AppTest.from_function(_masses, args=(["Blend", "Weighted MultiSource"],), default_timeout=PATIENCE)
    page.session_state["mass_of"] = "TrAdaBoost"  # trained no more
    assert page.run().selectbox(key="mass_of").value == "Weighted MultiSource"
