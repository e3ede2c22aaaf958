"""The Noise page: two models side by side, bands, distrusted rows, a matrix, a tensor, and data that don't fit."""

from pathlib import Path

import polars as pl
import pytest
from streamlit.testing.v1 import AppTest

import hetcore as hc
from studio import session
from studio.jobs import manager
from tests.app.opened_again import opened_again
from tests.jobs.running import PATIENCE

ROOT = Path(__file__).parents[2]


def opened(example, mode="Table", **state):
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=PATIENCE)
    app.session_state["example"] = example
    app.session_state["mode"] = mode
    for key, value in state.items():
        app.session_state[key] = value
    return app.run().switch_page("pages/5_Noise.py").run()


def trained(page, mode):
    page.button(key="train").click().run()
    return ended(page, mode)


def ended(page, mode):
    for run in page.session_state[f"live Noise {mode}"].runs.values():
        status = manager.manager().wait(run, timeout=PATIENCE)
        assert status.state == "finished", status.message
    page.run()
    assert not page.exception
    return page


def words(page):
    return " ".join(element.value for element in (*page.success, *page.caption, *page.markdown, *page.info))


def place_of_expander(block, label):
    """Return the places on the way down to an expander, by which the browser knows it; empty where there is none."""
    for place, each in getattr(block, "children", {}).items():
        if getattr(each, "label", "") == label and each.type == "expander":
            return [place]
        if way := place_of_expander(each, label):
            return [place, *way]
    return []


def test_the_page_says_what_to_do_and_nothing_trains_unasked():
    page = opened("planted_noise")
    assert not page.exception
    assert page.title[0].value == "Noise"
    assert "Press Train" in page.info[0].value
    assert "live Noise Table" not in page.session_state
    # An expander that another slider moves down would close.
    before = place_of_expander(page.main, "More parameters")
    page.slider(key="table_disturbed").set_value(20).run()
    assert page.slider(key="table_sd") and before == place_of_expander(page.main, "More parameters") != []


@pytest.mark.parametrize(("example", "kind"), [("planted_noise", "regression"), ("planted_flips", "classification")])
def test_controls_begin_at_the_defaults_of_the_method(example, kind):
    page = opened(example)
    method = hc.HGBMRegressor if kind == "regression" else hc.HGBMClassifier
    sliders = {"rounds": method.n_iterations, "rate": method.learning_rate, "deviation_rate": method.deviation_rate}
    for name, parameter in sliders.items():
        assert page.slider(key=f"noise_{name}_{kind}").value == parameter.default
    if kind == "classification":
        # a switch leaves them to the training
        assert (method.max_leaf_nodes.default, method.column_sample.default) == ("auto", "auto")
        page.toggle(key=f"noise_leaves_{kind}auto").set_value(False).run()
    leaves, columns = (4, 40) if kind == "classification" else (32, 100)
    assert page.slider(key=f"noise_leaves_{kind}").value == leaves
    assert page.slider(key=f"noise_columns_{kind}").value == columns


def test_numbers_show_both_errors_bands_and_calibration():
    page = trained(opened("planted_noise"), "Table")
    assert [metric.label for metric in page.metric] == ["RMSE of HGBM", "RMSE of GBM", "Round", "Seconds"]
    text = words(page)
    assert "RMSE on held-out labels: HGBM" in text.replace("*", "")  # bold is the better one, where one is
    assert "HGBM: 9" in text or "HGBM: 8" in text  # per cent of the labels within the 90% band
    assert "against the planted one; rank correlation 0.9" in in_tab(page, "Deviation")
    in_tab(page, "Take away")
    labels = {each.proto.label for each in page.get("download_button")}
    assert labels >= {"Predictions (CSV)", "Model", "Figure (HTML)", "Script", "Notebook", "Everything (ZIP)"}


def in_tab(page, name):
    """Open a tab, of which only the open one is made; return the words of the page."""
    page.session_state["after"] = name
    return words(page.run())


@pytest.mark.slow
def test_bands_run_along_a_feature_and_show_residuals():
    page = trained(opened("planted_noise"), "Table")
    along = next(box for box in page.selectbox if box.label == "Along")
    # In the browser too, which begins a list anew that was gone while a training went on.
    assert along.options[along.proto.default] == along.value
    along.set_value("x_3").run()
    along = next(box for box in page.selectbox if box.label == "Along")
    assert along.options[along.proto.default] == "x_3"
    page.segmented_control(key="band_kind").set_value("residuals").run()
    assert not page.exception
    assert {"HGBM", "GBM"} <= {trace["name"] for trace in page.session_state["drawn noise"]["error"]["data"]}
    other = opened_again(page, "5_Noise.py")
    assert other.segmented_control(key="band_kind").value == "residuals"
    assert next(box.value for box in other.selectbox if box.label == "Along") == "x_3"
    in_tab(page, "Distrusted rows")
    page.query_params["after"] = "Distrusted rows"  # as the browser's tabs tell it
    page.segmented_control(key="by").set_value("surprise").run()
    assert opened_again(page, "5_Noise.py").segmented_control(key="by").value == "surprise"


def test_flipped_labels_are_found_among_the_distrusted():
    page = trained(opened("planted_flips", flipped=20), "Table")
    text = words(page)
    assert "Error on held-out labels" in text
    table = next(frame.value for frame in page.dataframe if "flipped" in frame.value.columns)
    assert set(table.columns) >= {"id", "weight", "label", "prediction", "label before", "flipped"}
    assert table["weight"].is_monotonic_increasing
    assert "most distrusted rows have a flipped label" in in_tab(page, "Distrusted rows")


def test_a_moved_slider_retrains_and_is_reported():
    page = trained(opened("planted_flips", flipped=20), "Table")
    first = dict(page.session_state["live Noise Table"].runs)
    page.slider(key="flipped").set_value(30).run()
    if page.session_state["live Noise Table"].runs == first:  # the estimate was too long to go by itself
        page.button(key="train").click().run()
    page = ended(page, "Table")
    assert page.session_state["live Noise Table"].runs != first
    assert page.success[0].value.replace("\\", "").startswith("HGBM: ")
    assert "30% of the training labels flipped" in page.success[0].value.replace("\\", "")
    pair = page.selectbox(key="chance noise Table which")
    pair.set_value(pair.options[1]).run()
    # where it begins in the browser after the next training
    assert page.selectbox(key="chance noise Table which").proto.default == 1
    # nothing was changed by training the same once more
    page.button(key="train").click().run()
    assert not ended(page, "Table").success


@pytest.mark.slow
def test_ratings_show_who_strays():
    page = trained(opened("planted_ratings", "Matrix", matrix_epochs=20), "Matrix")
    assert [metric.label for metric in page.metric][:2] == ["RMSE of HMF", "RMSE of MF"]
    assert "MF, the mean model alone" in words(page)
    tables = [set(frame.value.columns) for frame in page.dataframe]
    assert {"user", "rows", "deviation", "held-out RMSE"} in tables
    assert {"item", "rows", "deviation", "held-out RMSE"} in tables


def test_factors_of_ratings_are_chosen_and_the_choice_is_reported():
    page = opened("planted_ratings", "Matrix", matrix_epochs=5, matrix_rateauto=False, matrix_penaltyauto=False)
    assert page.toggle(key="matrix_factorsauto").value and not [s for s in page.slider if s.key == "matrix_factors"]
    assert page.slider(key="matrix_rate").value == 0.07 and page.slider(key="matrix_penalty").value == 0.095
    page = trained(page, "Matrix")
    assert page.session_state["live Noise Matrix"].settings["MF"].params["n_factors"] == "auto"
    assert "Chosen by cross-validation: HMF Factors D = " in words(page).replace("\\", "")


def test_a_sensor_is_filled_in_over_time():
    page = trained(opened("planted_sensors", "Tensor", tensor_epochs=20), "Tensor")
    assert next(box.value for box in page.selectbox if box.label == "Time") == "time"
    assert "readings known, RMSE of the hidden ones" in words(page) and "PTF, the mean model alone" in words(page)
    sensor = page.selectbox(key="tensor sensor")
    sensor.set_value(sensor.options[3]).run()
    assert not page.exception


def filled_in(rows):
    from studio.views.noise import widgets_matrix

    widgets_matrix._filled_in({"HTF": rows}, ["sensor", "time", "quantity"])


def test_only_quantities_that_a_sensor_has_are_offered_of_it():
    codes = {"code:sensor": ["a", "a", "b"], "code:time": ["1", "2", "1"], "code:quantity": ["heat", "heat", "light"]}
    facts = {"std": [3.0, 3.0, 9.0], "prediction": [1.0] * 3, "truth": [1.0] * 3, "residual": [0.1] * 3}
    page = AppTest.from_function(filled_in, args=(pl.DataFrame(codes | facts | {"held": [True, False, True]}),)).run()
    assert page.selectbox(key="tensor quantity").options == ["light"]  # of b, which strays most
    page.selectbox(key="tensor sensor").set_value("a").run()
    assert not page.exception and page.selectbox(key="tensor quantity").value == "heat"
    assert "1 of 2 readings known" in words(page)


def distrusted(rows):
    from studio.views.noise import rows as noise_rows
    from studio.views.noise import widgets_table

    widgets_table._distrusted(rows, noise_rows.pl.DataFrame({"id": ["a"], "was": [0.0]}), numbers=True)


def test_rows_that_counted_the_same_are_not_listed_as_distrusted():
    facts = {"label": [1.0, 2.0, None], "prediction": [1.0] * 3, "std": [1.0] * 3}
    rows = pl.DataFrame({"id": ["a", "b", "c"], "weight": [1.0, 1.0, None]} | facts)
    page = AppTest.from_function(distrusted, args=(rows,)).run()
    assert "All rows counted the same" in words(page) and not page.dataframe
    page.segmented_control(key="by").set_value("surprise").run()
    assert not page.exception and page.dataframe[0].value["surprise"].to_list() == [1.0, 0.0]


def test_a_mode_that_the_data_have_not_is_in_the_address_too():
    page = opened("planted_flips")
    page.segmented_control(key="mode").set_value("Matrix").run()
    assert not page.exception and page.warning
    assert page.query_params["mode"] in ("Matrix", ["Matrix"])


def test_each_mode_has_trainings_of_its_own():
    page = trained(opened("planted_ratings", "Matrix", matrix_epochs=5), "Matrix")
    page.segmented_control(key="mode").set_value("Table").run()
    assert not page.exception
    assert "Press Train" in page.info[0].value


@pytest.mark.parametrize(("mode", "sentence"), [("Matrix", "no matrix"), ("Tensor", "no tensor")])
def test_data_that_do_not_fit_are_reported_and_an_example_is_offered(mode, sentence):
    page = opened("planted_noise", mode)
    assert not page.exception and sentence in page.warning[0].value
    name = {"Matrix": "planted_ratings", "Tensor": "planted_sensors"}[mode]
    page.button(key=f"load_{name}").click().run()
    assert not page.exception and not page.warning
    assert page.session_state["example"] == name
    assert "finished" in words(ended(page, mode))


def test_names_of_columns_are_shown_as_they_are():
    evil = "<b>[x](http://evil.example)"
    n = 60
    table = pl.DataFrame({"id": [f"r{k}" for k in range(n)], evil: [str(k % 6) for k in range(n)],
                          "item": [str(k % 7) for k in range(n)]})  # fmt: skip
    data = hc.HetData({"t": table}, target=pl.DataFrame({"id": table["id"], "y": [float(k % 5) for k in range(n)]}),
                      kinds={"t": {evil: "nominal", "item": "nominal"}})  # fmt: skip
    recipe = {"sources": [{"name": "t", "file": "t.csv", "id": "id"}]}
    mine = session.Current(data, "Your data", "Mine.", recipe)
    page = opened("planted_ratings", "Matrix", uploaded=mine, matrix_epochs=5)
    page = trained(page, "Matrix")
    assert "](http" not in words(page) and "<b>" not in words(page)


def test_labels_of_an_example_are_flipped_and_own_ones_are_not():
    assert opened("planted_flips").slider(key="flipped").value == 20
    table = pl.DataFrame({"id": [f"r{k}" for k in range(60)], "x": [float(k % 7) for k in range(60)]})
    target = pl.DataFrame({"id": table["id"], "y": [["a", "b"][k % 2] for k in range(60)]})
    recipe = {"sources": [{"name": "t", "file": "t.csv", "id": "id"}]}
    mine = session.Current(hc.HetData({"t": table}, target=target), "Your data", "Mine.", recipe)
    assert opened("planted_flips", uploaded=mine).slider(key="flipped").value == 0


def test_nobody_is_called_erratic_where_all_deviations_are_the_same():
    def app(deviations):
        import polars as pl

        from studio.views.noise import widgets_matrix

        rows = pl.DataFrame({"code:user": list("aabb"), "std": deviations, "residual": [0.1] * 4, "held": [True] * 4})
        widgets_matrix._stray(rows, ["user"])

    alike, apart = (
        AppTest.from_function(app, args=(each,), default_timeout=PATIENCE).run().caption[0].value
        for each in ([0.7] * 4, [0.7, 0.7, 0.9, 0.9])
    )
    assert alike == "Mean deviation of each user: the same of all, so nobody is distrusted"
    assert apart == "Mean deviation of each user; most erratic below"
