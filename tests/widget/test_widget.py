"""The widget in Python: controls, rounds that are sent once, orders of the page, what is wrong in one sentence."""

from __future__ import annotations

import json
import sys
import threading
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

import hetcore as hc
from hetcore.events import RoundEnd
from hetcore.widget import interrupts
from hetcore.widget.controls import controls, parameters, values
from hetcore.widget.rows import row, thinned
from hetcore.widget.trainer import Trainer

pytest.importorskip("anywidget", reason="anywidget is not installed")

ROUNDS = 4
SECONDS = 60.0


def table(name: str, seed: int, y: np.ndarray) -> pl.DataFrame:
    noise = np.random.default_rng(seed).normal(size=(len(y), 2))
    return pl.DataFrame({"id": [f"i{k}" for k in range(len(y))], "x": y + noise[:, 0], "z": noise[:, 1]})


@pytest.fixture(scope="module")
def data() -> hc.HetData:
    y = np.linspace(0, 3, 40)
    target = pl.DataFrame({"id": [f"i{k}" for k in range(40)], "y": y})
    return hc.HetData({"one": table("one", 0, y), "two": table("two", 1, y)}, target=target)


class Page:
    """Stands for the page: keeps what the widget sends, and presses its buttons."""

    def __init__(self, widget) -> None:
        self.widget, self.messages, self.first = widget, [], threading.Event()
        widget.send = self._take

    def _take(self, content, buffers=None) -> None:
        self.messages.append(content)
        self.first.set()

    def press(self, name: str, **more) -> None:
        content = {"data": {"method": "custom", "content": {"do": name, **more}}}
        self.widget._handle_msg({"content": content, "buffers": []})

    def wait_for(self, count: int) -> None:
        """Wait until so many messages were sent."""
        while True:
            self.first.clear()
            if len(self.messages) >= count:
                return
            assert self.first.wait(SECONDS)


def watched(data, **given):
    return hc.watch(hc.GBCRegressor(n_iterations=ROUNDS, as_printed=True, random_state=0), data, **given)


def test_a_control_for_each_declared_slider():
    model = hc.GBCRegressor(n_iterations=400, lambda0="auto")
    found = {each["name"]: each for each in controls(model)}
    assert list(found) == [name for name, each in model._parameters.items() if each.slider]
    assert found["n_iterations"]["high"] == 400 and found["n_iterations"]["step"] == 5  # the end reaches the value
    assert found["lambda0"]["auto"] and not found["max_depth"]["auto"]
    assert values(model)["lambda0"] == "auto"
    assert found["lambda0"]["label"] == "λ0 · consensus" and found["lambda0"]["help"].endswith(".")


def test_what_the_page_sends_becomes_parameters():
    model = hc.GBCRegressor()
    given = {"n_iterations": 7.0, "lambda0": 1, "random_state": 3, "nonsense": 1}
    assert parameters(model, given) == {"n_iterations": 7, "lambda0": 1}  # only what has a control
    assert type(parameters(model, given)["n_iterations"]) is int
    with pytest.raises(hc.ParameterError, match="n_iterations=2.5 must be a whole number"):
        parameters(model, {"n_iterations": 2.5})


def test_a_row_is_plain_and_short():
    event = RoundEnd("M", 3, 9, {"train": 1 / 3, "left_out": np.nan}, {"a": np.float64(0.123456789)}, seconds=2.0)
    assert row(event) == {"seconds": 2.0, "loss:train": 0.33333, "loss:left_out": None, "weight:a": 0.12346}
    kept = thinned([{"seconds": k} for k in range(1001)])
    assert kept["names"] == ["seconds"] and len(kept["rows"]) == 500
    assert kept["rows"][0] == [0, [0]] and kept["rows"][-1] == [1000, [1000]]
    assert thinned([]) == {"names": [], "rows": []}


def test_a_training_by_the_page_gives_model_history_and_every_round_once(data):
    widget = watched(data)
    page, heights = Page(widget), []
    widget.observe(lambda change: heights.append((change.old.height, change.new.height)), "history")
    page.press("train")
    model = widget.wait(SECONDS)
    assert heights[0] == (0, 1) and heights[-1][1] == ROUNDS
    assert widget.state == "finished" and widget.message == "" and widget.ended == 1
    assert [(each["first"], len(each["rows"])) for each in page.messages] == [(k, 1) for k in range(ROUNDS)]
    assert widget.history.height == model.n_iterations_ == ROUNDS and len(widget.record["rows"]) == ROUNDS
    assert widget.history["loss:train"].to_list() == model.history_["loss:train"].to_list()
    same = hc.GBCRegressor(n_iterations=ROUNDS, as_printed=True, random_state=0).fit(data)
    assert (model.predict(data) == same.predict(data)).all()
    page.press("rows", first=2)  # a view that came later asks for what it lacks
    assert page.messages[-1]["first"] == 2 and len(page.messages[-1]["rows"]) == ROUNDS - 2
    for wrong in (-1, 99, "x", None):
        page.press("rows", first=wrong)
        assert len(page.messages[-1]["rows"]) == ROUNDS


def test_the_sliders_are_what_is_trained_and_the_estimator_stays_as_it_is(data):
    estimator = hc.GBCRegressor(n_iterations=ROUNDS, as_printed=True, random_state=0)
    widget = hc.watch(estimator, data)
    widget.params = {"n_iterations": 2.0}  # the others keep their values
    assert widget.params["n_iterations"] == 2 and widget.params["max_depth"] == estimator.max_depth
    with pytest.raises(hc.ParameterError, match="max_depth"):
        widget.params = {"max_depth": 0}
    widget.train()
    assert widget.wait(SECONDS).n_iterations_ == 2 and widget.trained["n_iterations"] == 2
    assert estimator.n_iterations == ROUNDS and not hasattr(estimator, "n_iterations_")


def test_rounds_one_by_one_then_stop(data):
    widget = watched(data)
    page, paused, seen = Page(widget), threading.Event(), []
    widget.observe(lambda change: (seen.append(change.new), paused.set()) if change.new == "paused" else None, "state")
    for rounds in (1, 2):
        paused.clear()
        page.press("step")
        assert paused.wait(SECONDS)
        page.wait_for(rounds)  # it may be paused before its first round too
    page.press("stop")
    model = widget.wait(SECONDS)
    assert widget.state == "stopped" and model.n_iterations_ == len(page.messages) == 2
    page.press("dance")
    page.press("close")
    assert widget.state == "stopped"  # no orders of the page


def test_an_error_of_a_fit_is_a_sentence_and_the_last_model_stays(data):
    widget = watched(data, y=np.ones(3))
    widget.train()
    assert widget.wait(SECONDS) is None
    assert widget.state == "failed" and widget.message.startswith("y has 3 labels for 40 instances")


@pytest.mark.parametrize(
    "estimator, labelled, words",
    [
        (hc.GBCRegressor, True, "GBCRegressor is a class: give GBCRegressor()."),
        (object(), True, "object is not an estimator of hetcore: give one such as hetcore.GBCRegressor()."),
        (hc.GBCRegressor(max_depth=0), True, "max_depth=0 must be"),
        (hc.GBCRegressor(), False, "The data have no labels: give a target to HetData, or y to watch."),
    ],
)
def test_what_cannot_be_trained_is_reported_at_once(data, estimator, labelled, words):
    given = data if labelled else hc.HetData(data.sources)
    widget = hc.watch(estimator, given)
    assert widget.state == "failed" and widget.message.startswith(words) and widget.message.count("\n") == 0
    widget.train()
    widget.stop()
    assert widget.wait() is None and widget.run == 0 and widget.controls == []


X = np.random.default_rng(0).normal(size=(60, 3))


@pytest.mark.parametrize(
    "estimator, given, words",
    [
        (hc.HGBMRegressor(), {}, "The data have no labels: give y to watch."),
        (hc.GBCRegressor(), {"y": X[:, 0]}, "GBCRegressor takes a HetData, not ndarray: build one"),
        (hc.HGBMRegressor(), {"y": X[:, 0], "eval_Y": X[:, 0]}, "fit of HGBMRegressor takes no eval_Y: it takes 'y', "),
        (hc.HGBMRegressor(), {"y": X[:, 0], "callbacks": print}, "callbacks=print is no list: give callbacks=[print]."),
        (hc.HGBMRegressor(), {"y": X[:, 0], "callbacks": 3}, "callbacks=3 is no list: give callbacks=[...]"),
        (hc.HGBMRegressor(), {"y": X[:, 0], "callbacks": [3]}, "callbacks has 3, which takes no event after a round"),
    ],
)
def test_arrays_that_cannot_be_trained_on_are_reported_at_once(estimator, given, words):
    widget = hc.watch(estimator, X, **given)
    assert widget.state == "failed" and widget.message.startswith(words) and widget.controls == []


def test_callbacks_of_a_generator_serve_each_training():
    seen = []
    widget = hc.watch(hc.HGBMRegressor(n_iterations=2), X, X[:, 0], callbacks=(each for each in [seen.append]))
    for _ in range(2):
        widget.train()
        assert widget.wait(60) is not None
    assert len(seen) == 4


def test_tables_for_a_method_of_arrays_are_reported_with_what_makes_arrays_of_them(data):
    assert "hetcore.data.plain makes arrays" in hc.watch(hc.HGBMRegressor(), data).message
    assert "hetcore.data.plain makes arrays" in hc.watch(hc.HMF(), data).message


def test_a_stop_is_seen_in_the_middle_of_a_round():
    begun, seen = threading.Event(), threading.Event()

    def fit(callback):
        begun.set()
        while not callback.stopped:  # as a long round of a consensus asks
            seen.wait(0.01)
        return "what there is"

    sent = []
    trainer = Trainer(lambda kind, content: sent.append((kind, content)))
    trainer.start(fit)
    assert begun.wait(SECONDS)
    trainer.order("stop")
    assert trainer.wait(SECONDS) and sent == [("done", ("what there is", True))]
    view = hc.LiveView()
    assert not view.stopped
    Page(view).press("stop")
    assert view.stopped


def test_arrays_train_as_well():
    widget = hc.watch(hc.HGBMRegressor(n_iterations=5, random_state=0), X, X[:, 0])
    widget.train()
    assert widget.wait(SECONDS).predict(X).shape == (60,) and widget.state == "finished"
    assert len(widget.picture["places"]) == 60 and set(widget.picture["colours"]) == {"prediction", "error"}


def test_an_ended_training_has_a_picture_and_the_next_one_begins_without(data):
    widget, seen = watched(data), []
    widget.observe(lambda change: seen.append(len(change.new.get("places", ()))), "picture")
    widget.train()
    widget.wait(SECONDS)
    widget.train()
    widget.wait(SECONDS)
    assert seen == [40, 0, 40]


def test_a_live_view_moves_while_fit_runs_and_ends_with_it(data):
    view = hc.LiveView()
    page, counts = Page(view), []
    view.observe(lambda change: counts.append(change.new), "state")
    model = hc.GBCRegressor(n_iterations=ROUNDS, as_printed=True, random_state=0)
    model.fit(data, callbacks=[hc.EarlyStopping(1, "train", tol=1e9), view])
    assert repr(view) == "LiveView(GBCRegressor, finished, round 2 of 4)" and repr(hc.LiveView()) == "LiveView(idle)"
    assert view.state == "finished" and view.model_ is model and counts == ["training", "finished"]
    assert len(page.messages) == model.n_iterations_ == 2  # the other callback stopped it
    model.fit(data, callbacks=[view, lambda event: page.press("stop")])
    assert view.state == "stopped" and view.run == 2 and view.history.height == 2


def test_a_live_view_says_that_a_fit_failed(data):
    def burst(event):
        raise RuntimeError("no more")

    view = hc.LiveView(show=False)
    with pytest.raises(RuntimeError):
        hc.GBCRegressor(n_iterations=2, as_printed=True).fit(data, callbacks=[view, burst])
    assert view.state == "failed" and view.message == "The training stopped with RuntimeError: no more"


def test_a_trainer_does_one_fit_at_a_time_and_ends():
    sent, go = [], threading.Event()
    trainer = Trainer(lambda kind, content: sent.append((kind, content)))
    trainer.start(lambda callback: go.wait(SECONDS))
    trainer.start(lambda callback: sent.append("a second one"))
    go.set()
    assert trainer.wait(SECONDS) and sent == [("done", (True, False))]
    trainer.start(lambda callback: 1 / 0)
    assert trainer.wait(SECONDS) and sent[-1] == (
        "failed",
        "The training stopped with ZeroDivisionError: division by zero",
    )
    trainer.close()
    trainer._thread.join(SECONDS)
    assert not trainer._thread.is_alive()


def test_an_interrupt_stops_what_trains_and_goes_on_to_whoever_listened_before(data):
    widget, before = watched(data), []
    widget.step()
    interrupts.TRAINERS.add(widget._trainer)
    interrupts._handler(lambda *given: before.append(given))(2, None)
    assert widget.wait(SECONDS) is None or widget.model_.n_iterations_ < ROUNDS
    assert widget.state == "stopped" and before == [(2, None)]
    interrupts._handler(0)(2, None)  # one that cannot be called, such as SIG_IGN
    widget.step()
    interrupts._after_cell(SimpleNamespace(error_in_exec=ValueError()))
    assert widget._trainer.busy
    interrupts._after_cell(SimpleNamespace(error_in_exec=KeyboardInterrupt()))
    widget.wait(SECONDS)
    assert widget.state == "stopped" and not widget._trainer.busy


def test_what_any_notebook_needs_is_in_the_widget_and_colab_enables_it(data, monkeypatch):
    util = pytest.importorskip("anywidget._util")
    enabled, place = [], SimpleNamespace(_installed_url="colab's")
    colab = SimpleNamespace(enable_custom_widget_manager=lambda: enabled.append(1), _widgets=place)
    util.enable_custom_widget_manager_once.cache_clear()
    monkeypatch.setitem(sys.modules, "google.colab.output", colab)
    widget = watched(data)
    shown, more = widget._repr_mimebundle_()
    util.enable_custom_widget_manager_once.cache_clear()
    (kind,) = more
    assert enabled == [1] and more[kind]["colab"]["custom_widget_manager"]["url"] == "colab's"
    assert shown[kind]["model_id"] == widget.model_id and shown["text/plain"] == "Watch(GBCRegressor, idle)"
    state = widget.get_state()
    assert state["_esm"] == widget._esm and state["_model_module"] == state["_view_module"] == "anywidget"
    layout = state.pop("layout")
    assert layout.startswith("IPY_MODEL_") and json.dumps(state)  # no file, nothing binary


def test_the_page_loads_nothing_from_anywhere():
    text = str(hc.watch(1, 2)._esm)
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "") and "import " not in text
    assert "innerHTML" not in text and "eval(" not in text
    assert len(text) < 48_000  # every saved notebook carries it


def test_what_has_no_effect_has_no_slider():
    """As printed a step is the line search's, and the slider of its rate moved nothing."""
    printed, default = (
        {each["name"] for each in controls(hc.GBCClassifier(as_printed=flag))} for flag in (True, False)
    )
    assert default - printed == {"learning_rate"} and not printed - default
