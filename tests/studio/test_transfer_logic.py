"""What the Transfer page does without a page: domains, settings, the curve in a worker, where transfer hurts."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

import hetcore as hc
from hetcore.figures import transfer as figures
from hetcore.player import Player
from studio import scenarios
from studio.jobs import worker_tasks
from studio.jobs.job import FunctionTask, Setting, TrainingTask
from studio.runs import export, reopening
from studio.runs.differences import Outcome, sentence
from studio.runs.run import Run
from studio.views.common import widgets_progress
from studio.views.transfer import curve, domains, eta, widgets
from studio.views.transfer import widgets_settings as settings
from studio.views.transfer.domains import BASELINE
from studio.views.transfer.widgets_settings import Choice

N = 40


def domain(name: str, seed: int, flip: float = 0.0, classes: str = "uv") -> tuple[pl.DataFrame, list[str]]:
    """Return rows whose class is the place of the first column, with a share of wrong labels."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 3))
    place = np.clip(np.digitize(X[:, 0], np.linspace(-0.8, 0.8, len(classes) + 1)[1:-1]), 0, len(classes) - 1)
    place = np.where(rng.random(N) < flip, (place + 1) % len(classes), place)
    table = pl.DataFrame(X, schema=["a", "b", "c"]).insert_column(0, pl.Series("id", [f"{name}/{k}" for k in range(N)]))
    return table, [classes[k] for k in place]


def made(classes: str = "uv") -> hc.HetData:
    """Return a target and two sources, one of them hostile."""
    parts = {"home": domain("home", 0, 0.0, classes), "near": domain("near", 1, 0.0, classes)}
    parts["hostile"] = domain("hostile", 2, 0.9, classes)
    ids = pl.concat([table["id"] for table, _ in parts.values()])
    labels = [label for _, own in parts.values() for label in own]
    return hc.HetData({name: table for name, (table, _) in parts.items()}, target=(ids, labels))


CHOICE = Choice("home", ("near", "hostile"), None, 2, n_iterations=5)


class Quiet(Player):
    """A player that keeps its events and stops after some."""

    def __init__(self, most: int = 1000) -> None:
        self.events = []
        super().__init__(self.events.append)
        self.most = most

    def __call__(self, event):
        super().__call__(event)
        self.stopped = len(self.events) >= self.most
        return self.stopped


# Data -----------------------------------------------------------------------------------------------------------------


def test_data_that_are_no_domains_are_refused_in_one_sentence():
    data = made()
    assert domains.why_not(data) == ""
    assert "single table" in domains.why_not(data.select(sources=["home"]))
    numbers = domains.why_not(data.with_target(np.arange(data.n)))
    assert "labels are numbers" in numbers and "TransferRegressor" in numbers
    assert "have none" in domains.why_not(hc.HetData(data.sources))
    table = pl.DataFrame({"id": [f"home/{k}" for k in range(N)], "other": range(N)})
    same = data.with_source("more", hc.Source.from_frame(table, "id"))
    assert "the same instances" in domains.why_not(same)
    strange = table.with_columns(id=pl.Series([f"other/{k}" for k in range(N)]))
    sources = {"home": data.sources["home"], "other": hc.Source.from_frame(strange, "id")}
    apart = hc.HetData(sources, target=(data.ids[:N], data.y[:N].tolist()))
    assert "share no column" in domains.why_not(apart)


def test_there_is_always_a_row_of_each_class_left_to_score():
    data = made("uvw")
    counts = [list(data.y[data.rows("home")]).count(c) for c in "uvw"]
    assert domains.examples_possible(data, "home", None) == min(min(counts) - 1, 20)
    assert domains.examples_possible(data, "home", "v") == min(counts[1] - 1, 20)


def test_the_first_class_is_one_that_every_domain_has():
    data = made("uvw")
    y = data.y.copy()
    y[data.rows("near")[y[data.rows("near")] == "u"]] = "v"
    assert domains.first_class(data.with_target(y)) in ("v", "w")


def test_a_choice_that_cannot_be_trained_is_reported_in_one_sentence():
    data = made("uvw")
    assert settings.problem(data, CHOICE) == ""
    assert "at least one domain" in settings.problem(data, Choice("home", ()))
    bare = data.hide_labels(data.ids[data.rows("home")])
    assert "no two classes" in settings.problem(bare, CHOICE)
    rows = data.rows("home")
    without = data.hide_labels(data.ids[rows[data.y[rows] == "v"]])
    assert "is of the class v" in settings.problem(without, Choice("home", ("near",), "v"))


def test_a_column_in_another_unit_is_reported_with_its_domains():
    data = made()
    assert domains.other_units(data, "home", ("near", "hostile")) == ""
    frames = {name: source.frame.with_columns(id=source.id_series) for name, source in data.sources.items()}
    frames["near"] = frames["near"].with_columns(pl.col("a") * 1000.0)
    frames["hostile"] = frames["hostile"].with_columns(pl.col("a", "b") / 50.0, c=pl.lit(1.0))
    apart = hc.HetData(frames, target=(data.ids, data.y))
    words = domains.other_units(apart, "home", ("near", "hostile"))
    assert words.startswith("'a' varies ") and "times as much in 'near' as in 'home' (and 2 more like it)" in words
    assert "'b' varies" not in words
    words = domains.other_units(apart, "home", ("hostile",))
    assert "times as much in 'home' as in 'hostile' (and 1 more like it)" in words


def test_the_domain_that_is_called_the_target_comes_first():
    data = made()
    assert domains.first_target(data) == "home"
    named = hc.HetData({**data.sources, "My target": data.sources["near"]}, target=(data.ids, data.y.tolist()))
    assert domains.first_target(named) == "My target"


def test_the_domain_of_fewest_labels_is_one_that_can_be_a_target():
    data = made()
    assert domains.fewest_labels(data) == "home"  # of equal ones the first

    def labelled(**counts: int) -> hc.HetData:
        rows = np.concatenate([data.rows(name)[:count] for name, count in counts.items()])
        return hc.HetData(data.sources, target=(data.ids[rows], data.y[rows].tolist()))

    assert domains.fewest_labels(labelled(home=40, near=12, hostile=30)) == "near"
    assert domains.fewest_labels(labelled(home=40, near=0, hostile=30)) == "hostile"
    assert domains.fewest_labels(labelled(home=40, near=1, hostile=30)) == "hostile"  # one label is one class


def test_operations_leave_the_chosen_domains_class_and_examples():
    data = made("uvw")
    choice = Choice("home", ("near",), "v", 3, ("near", 0.5))
    done = settings.operations(data, choice)
    assert [op["op"] for op in done] == ["drop_source", "one_class", "target_labels", "flip_source_labels"]
    after = scenarios.apply(data, done)
    known = after.data.with_target(after.y).labelled
    assert after.data.source_names == ["home", "near"] and set(after.data.classes) == {"v", "not v"}
    assert known[after.data.rows("home")].sum() == 6
    sizes = settings.sizes_of(data, choice)
    assert sizes == (6, known[after.data.rows("near")].sum())
    assert settings.eta_marks(*sizes) == {
        "100 n_T / n_S": pytest.approx(600 / sizes[1]), "100 n_T² / n_S": pytest.approx(3600 / sizes[1])
    }  # fmt: skip


# Trainings ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(domains.METHODS))
def test_each_method_trains_in_a_worker_and_scores_the_targets_other_rows(name):
    data = made()
    setting = settings.settings(data, CHOICE, [name])[name]
    task = TrainingTask(setting.estimator, setting.params, data, operations=setting.operations, form=setting.form)
    player = Quiet()
    result = worker_tasks.perform(task, player)
    scored = result.predictions.drop_nulls("held_out")
    assert scored.height == N - 4 and all(one.startswith("home/") for one in scored["id"])
    assert 0 <= result.scores["held_out"] <= 1 and player.events
    assert set(result.source_weights) <= {"near", "hostile"}


def test_the_wrong_rows_come_first_side_by_side():
    ids = ["a", "b", "c", "d"]
    frames = {
        name: pl.DataFrame({"id": ids, "held_out": ["u", "u", "v", None], "prediction": text})
        for name, text in {"one": ["u", "v", "u", "u"], "two": ["u", "v", "v", "u"]}.items()
    }
    table = widgets.side_by_side(frames)
    assert table["id"].to_list() == ["b", "c", "a"] and table["wrong"].to_list() == [2, 1, 0]
    assert table.columns == ["id", "truth", "one", "two", "wrong"]
    assert widgets.side_by_side({}).is_empty()


def test_a_change_is_reported_without_what_follows_from_it():
    data = made()
    before = settings.settings(data, CHOICE, ["MultiSource"])["MultiSource"]
    changed = Choice("home", ("near",), None, 5, ("near", 0.5), n_iterations=5)
    after = settings.settings(data, changed, ["MultiSource"])["MultiSource"]
    text = sentence(*(Outcome(tuple(each.operations), each.params, "error", 0.2) for each in (before, after)))
    assert text == (
        "without the source hostile; with 5 examples a class of home; with 50% of the labels of near flipped: "
        "error stays at 20.0%."
    )


@pytest.mark.slow
def test_changed_settings_of_all_models_are_listed_once():
    old = {"target": Setting("GBC", {"max_depth": 2}), "T": Setting("T", {"max_depth": 2, "eta": 1.0})}
    new = {"target": Setting("GBC", {"max_depth": 3}), "T": Setting("T", {"max_depth": 3, "eta": 2.0})}
    assert widgets_progress.changes(old, new) == "depth 2 → 3; η 1 → 2"
    assert widgets_progress.changes(old, old | {"T": new["T"]}) == "depth 2 → 3; η 1 → 2"
    assert widgets_progress.changes({"T": old["T"]}, old) == "without target"


@pytest.mark.slow
def test_the_script_of_a_training_prints_its_number(tmp_path):
    from tests.runs.test_export import executed

    files = {"home.csv": None, "near.csv": None}
    parts = []
    for k, name in enumerate(("home", "near")):
        table, labels = domain(name, k)
        files[f"{name}.csv"] = table.with_columns(pl.Series("class", labels)).write_csv().encode()
        parts.append({"name": name, "file": f"{name}.csv", "id": "id", "label": "class"})
    recipe = {"sources": parts, "task": "classification"}
    from studio import recipes

    data = recipes.build(recipe, files.__getitem__)
    hc.write_data(data, tmp_path / "data")
    setting = settings.settings(data, Choice("home", ("near",), None, 2, n_iterations=5), ["MultiSource"])[
        "MultiSource"
    ]
    task = TrainingTask(setting.estimator, setting.params, data, operations=setting.operations, form=setting.form)
    result = worker_tasks.perform(task, Quiet())
    run = Run("anna", "Transfer", setting.estimator, "Your data", settings=setting.stored(recipe))
    assert executed(export.script_of_run(run), tmp_path).split()[-1] == repr(result.scores["held_out"])


def test_a_stored_run_opens_again_with_its_controls():
    data = made("uvw")
    choice = Choice(
        "near",
        ("home",),
        "v",
        examples=4,
        corrupted=("home", 0.3),
        eta=20.0,
        update="multiplicative",
        eta_on="source",
        n_iterations=40,
        max_depth=2,
        seed=7,
    )
    earlier = [{"op": "noise", "name": "home", "sd": 0.5, "seed": 0}]
    setting = settings.settings(data, choice, ["Weighted MultiSource"], earlier)["Weighted MultiSource"]
    run = Run("anna", "Transfer", setting.estimator, "mine", settings=setting.stored({"example": "mine"}))
    assert reopening.operations(run) == earlier and reopening.page_file(run) == "pages/4_Transfer.py"
    assert reopening.controls(run, "mine", data.source_names, []) == {
        "target": "near", "teachers": ["home"], "class": "v", "examples": 4, "corrupted": "home", "corrupted_share": 30,
        "methods": ["Weighted MultiSource"], "eta_rule": "by hand", "eta": 20.0, "eta_on": "source",
        "update": "multiplicative", "transfer_rounds": 40, "transfer_seed": 7,
    }  # fmt: skip
    plain = settings.settings(data, Choice("near", ("home", "hostile")), [BASELINE])[BASELINE]
    run = Run("anna", "Transfer", plain.estimator, "mine", settings=plain.stored({"example": "mine"}))
    values = reopening.controls(run, "mine", data.source_names, [])
    assert values["class"] == domains.ALL and values["teachers"] == ["home", "hostile"]
    assert values["methods"] == [BASELINE] and values["corrupted"] == domains.NONE


# The curve ------------------------------------------------------------------------------------------------------------


def swept(methods=("MultiSource", "TrAdaBoost"), repeats=2, possible=3) -> dict:
    data = made()
    return curve.sweep(data, settings.settings(data, CHOICE, methods), "home", possible, repeats)


def test_the_curve_tells_each_fit_as_it_goes_and_can_be_stopped():
    player = Quiet()
    result = worker_tasks.perform(FunctionTask("studio.views.transfer.curve:curve", swept()), player)
    assert len(result.value) == len(player.events) == 3 * 2 * 2
    events = [event for _, event in player.events]
    assert [event.index for event in events] == list(range(12)) and {event.total for event in events} == {12}
    assert events[0].detail["size"] == 1 and events[0].detail["label"] == "MultiSource"
    assert all(event.detail["accuracy"] == 1 - event.losses["held_out"] for event in events)
    stopped = worker_tasks.perform(FunctionTask("studio.views.transfer.curve:curve", swept()), Quiet(5))
    assert len(stopped.value) == 5 and stopped.value == result.value[:5]


def test_a_cell_of_the_curve_is_the_training_of_that_size_and_draw():
    arguments = swept(("MultiSource",), repeats=2)
    cell = curve.curve(**arguments)[3 + 1]  # second draw, two examples
    assert (cell["size"], cell["repeat"]) == (2, 1)
    data, done = arguments["data"], arguments["done"]
    choosing = {"op": "target_labels", "name": "home", "count": 2, "seed": 1}
    ((_, estimator, params),) = arguments["methods"]
    task = TrainingTask(
        estimator, params, data, operations=[*done, choosing], form={"form": "domains", "target": "home"}
    )
    result = worker_tasks.perform(task, Quiet())
    assert cell["accuracy"] == pytest.approx(1 - result.scores["held_out"], abs=1e-12)


def cells(**accuracies: list[list[float]]) -> list[dict]:
    """Return cells of sizes 1, 2, 3, ...; per method a list of values by repeat for each size."""
    return [
        {"label": name.replace("_", " "), "size": k + 1, "repeat": r, "accuracy": value}
        for name, rows in accuracies.items()
        for k, row in enumerate(rows)
        for r, value in enumerate(row)
    ]


def test_points_have_means_and_standard_errors():
    found = curve.points(cells(A=[[0.5, 0.7], [0.8]]))["A"]
    assert found.sizes == [1, 2] and found.means == pytest.approx([0.6, 0.8])
    assert found.errors == pytest.approx([0.1, 0.0])


BASE = [[0.5, 0.5], [0.6, 0.6], [0.7, 0.7]]


@pytest.mark.parametrize(
    ("ours", "words"),
    [
        ([[0.6, 0.7], [0.7, 0.7], [0.8, 0.8]], "A helps at every number of examples (+10.0 ± 0.0 points at 3)."),
        ([[0.4, 0.4], [0.5, 0.5], [0.6, 0.6]], "A hurts at every number of examples (−10.0 ± 0.0 points at 3)."),
        ([[0.6, 0.6], [0.5, 0.5], [0.6, 0.6]], "No transfer overtakes A at 2 examples (−10.0 ± 0.0 points at 3)."),
        (
            [[0.6, 0.6], [0.5, 0.5], [0.6, 0.7]],
            "A helps at 1, hurts at 2, makes no clear difference at 3 (−5.0 ± 5.0 points at 3).",
        ),
        ([[0.4, 0.4], [0.7, 0.7], [0.8, 0.8]], "A helps at 2 and 3, hurts at 1 (+10.0 ± 0.0 points at 3)."),
        (
            [[0.4, 0.6], [0.6, 0.7], [0.7, 0.7]],
            "A makes no clear difference at any number of examples (+0.0 ± 0.0 points at 3).",
        ),
        ([[0.6, 0.6], [0.7]], "A helps at 1 (+10.0 ± 0.0 points at 1)."),
        ([[0.6], [0.7], [0.8]], "A needs a second draw of the examples to be judged."),
    ],
)  # fmt: skip
def test_where_transfer_starts_to_hurt_is_one_sentence(ours, words):
    measured = curve.points(cells(A=ours, No_transfer=BASE))
    assert curve.verdict(measured) == words


def test_without_a_baseline_the_sentence_asks_for_it():
    assert BASELINE in curve.verdict(curve.points(cells(A=BASE)))
    assert "method" in curve.verdict(curve.points(cells(No_transfer=BASE)))


# Figures --------------------------------------------------------------------------------------------------------------


def test_a_curve_has_a_band_and_the_colour_of_its_method():
    order = list(domains.METHODS)
    band = ([1, 2], [0.5, 0.6], [0.1, 0.05])
    figure = figures.curve({"MultiSource": band}, order, pale={"MultiSource": band}, chance=0.5)
    around = next(trace for trace in figure["data"] if trace.get("fill") == "toself")
    assert around["y"].tolist() == pytest.approx([0.6, 0.65, 0.55, 0.4])
    line = next(trace for trace in figure["data"] if trace["name"] == "MultiSource")
    alone = figures.side_by_side({"MultiSource": ([1, 2], [0, 1])}, "y", order)["data"][0]
    assert line["line"]["color"] == alone["line"]["color"]
    assert {trace["name"] for trace in figure["data"]} >= {"commonest class", "MultiSource, before"}


def test_a_method_of_one_round_is_a_level_line():
    figure = figures.side_by_side({"A": ([1], [0.7]), "B": ([1, 2, 3], [0.1, 0.2, 0.3])}, "y", ["A", "B"])
    level = next(trace for trace in figure["data"] if trace["name"] == "A")
    assert level["x"].tolist() == [1, 3] and level["y"].tolist() == [0.7, 0.7] and level["line"]["dash"] == "dash"


RANGES = [
    ([0.944] * 3, (0.894, 0.994)), ([1.0] * 3, (0.95, 1.005)), ([0.0] * 3, (-0.005, 0.05)), ([0.2, 0.7], (0.16, 0.74)),
]  # fmt: skip


@pytest.mark.parametrize(("values", "expected"), RANGES)
def test_an_axis_of_shares_fits_equal_values_and_ends_at_all_of_them(values, expected):
    figure = figures.side_by_side({"A": (range(1, 1 + len(values)), values)}, "y", ["A"], percent=True)
    assert figure["layout"]["yaxis"]["range"] == pytest.approx(expected)
    assert "range" not in figures.side_by_side({}, "y", ["A"], percent=True)["layout"]["yaxis"]


def test_a_figure_without_a_line_says_why_it_is_empty():
    events, order = {"Blend": (), "MultiSource": ()}, ["Blend", "MultiSource"]
    lines = {"MultiSource": ([1, 2], [0, 1])}
    figures_of = [figures.side_by_side(each, "ε", order, level=0.5) for each in ({}, lines)]
    assert [widgets.why_empty("epsilon", each, events)[:18] for each in figures_of] == ["No round has an ε ", ""]
    # Nothing is said of a line that is not there.
    assert not widgets._epsilon_note({}) and widgets._epsilon_note({"MultiSource": ([1], np.array([0.2]))})


def test_a_blend_names_the_rows_of_each_part():
    shares = {"trees, all, domain column": 0.6, "linear, with near": 0.35, "linear, all": 0.04}
    parts = "60% trees (all domains, with a column of the domain), 35% linear (with near)"
    assert widgets.blended(shares) == f"Blended from {parts}."


def test_names_of_two_marks_of_eta_stand_apart():
    heights = [trace["y"][1] for trace in figures.eta_scale(0.1, {"linear": 0.5, "squared": 3.0})["data"][:2]]
    layout = figures.eta_scale(0.1, {"linear": 0.5, "squared": 3.0})["layout"]
    low, high = layout["yaxis"]["range"]
    assert (heights[1] - heights[0]) / (high - low) * (layout["height"] - 80) > 11  # letters of 11 px; 80 are the axis'
    sides = lambda **marks: [trace["textposition"] for trace in figures.eta_scale(0.1, marks)["data"][:2]]  # noqa: E731
    assert sides(linear=0.5, squared=3.0) == ["top left", "top center"]  # the line of the other crosses no word
    assert sides(linear=71.4, squared=10714.0) == ["top left", "top left"]  # nor does the end of the axis cut any
    words = [t["text"][1] for t in figures.eta_scale(0.1, {"linear": 71.43, "squared": 10714.3})["data"][:2]]
    assert words == ["linear = 71.4", "squared = 10,700"]
    assert sides(linear=3.0, squared=0.5) == sides(linear=0.02, squared=0.1) == ["top center", "top center"]


def test_the_loss_over_eta_is_called_as_on_other_charts():
    figure = figures.eta_scale(1.0, {}, ([0.1, 1.0], [0.7, 0.6]))
    assert figure["layout"]["yaxis"]["title"]["text"] == "left-out log loss" and "nats" not in str(figure)


def test_losses_that_few_rows_do_not_tell_apart_are_shaded():
    figure = figures.eta_scale(1.0, {}, ([0.1, 1.0], [0.7, 0.6]), apart=0.05)
    band = next(trace for trace in figure["data"] if trace["name"] == "not told apart")
    assert band["y"] == pytest.approx([0.6, 0.6, 0.65, 0.65])
    assert not [trace for trace in figures.eta_scale(1.0, {}, apart=0.05)["data"] if trace["name"] == "not told apart"]


def test_an_eta_beyond_the_curve_stands_on_the_axis_without_a_loss():
    path = eta.path_of(_events({0.1: 0.7, 10.0: 0.6}, 0.65))
    place = lambda value: figures.eta_scale(value, {}, (path.etas, path.losses))["data"][-1]  # noqa: E731
    far, figure = place(100.0), figures.eta_scale(100.0, {}, (path.etas, path.losses))
    assert far["y"] == figure["layout"]["yaxis"]["range"][:1] and far["marker"]["symbol"] == "diamond-open"
    assert "not measured" in far["hovertemplate"] and "not measured" not in place(10.0)["hovertemplate"]
    assert place(1.0)["y"] == pytest.approx([0.65])  # on the line, which is straight on a scale of logarithms
    assert eta.beyond(path, 100.0) == "η = 100 lies beyond the curve, 0.1 to 10: its loss was not measured. "
    assert eta.beyond(path, 10.0) == ""


def test_eta_stands_on_its_scale_beside_the_formulas():
    figure = figures.eta_scale(5000.0, {"linear": 2.0, "squared": 0.0})
    points = {trace.get("name"): trace for trace in figure["data"]}
    assert points["η"]["x"] == [1000.0] and "5,000" in points["η"]["hovertemplate"]
    assert figure["data"][0]["x"] == [2.0, 2.0] and figure["data"][1]["x"] == [0.01, 0.01]


# η --------------------------------------------------------------------------------------------------------------------


def _events(losses, alone, chosen="boosting"):
    kinds = ["boosting"] * len(losses) + ["target only"]
    learners, etas = ["linear"] * len(kinds), [*losses, None]
    votes = [0.5, *[0.5 / (len(losses) - 1 or 1)] * (len(losses) - 1), 0.0]
    path = {"kind": kinds, "learner": learners, "eta": etas, "loss": [*losses.values(), alone], "share": votes}
    return [SimpleNamespace(detail={"eta_path": path, "learner": "linear", "eta": 0.5, "chosen": chosen})]


def test_where_transfer_begins_to_hurt_is_reported():
    path = eta.path_of(_events({0.0: 0.6, 0.5: 0.3, 5.0: 0.7}, 0.5))
    assert path.etas == [0.0, 0.5, 5.0] and path.alone == 0.5 and path.pooled is None
    assert path.shares == [0.5, 0.25, 0.25]
    drawn = figures.eta_scale(0.5, {}, path[:2], shares=path.shares)["data"][0]
    assert drawn["text"][0] == ", 50% of the vote" and drawn["marker"]["size"][1] == 15.0
    text = eta.story(path)
    assert "η = 0.5 is best (log loss 0.300)" in text and "from η = 5 on and at η = 0 transfer hurts" in text
    assert "“auto” lets every η vote" in text and "the more. η = 0.5 is only their mean." in text
    assert text.index("It beats") < text.index("“auto”")
    noisy = eta.story(eta.path_of(_events({0.0: 0.4, 0.2: 0.7, 0.5: 0.3, 1.0: 0.6, 5.0: 0.4}, 0.5)))
    assert "; at η = 0.2, 1 transfer hurts." in noisy
    assert "at every η tried, 0 to 0.5." in eta.story(eta.path_of(_events({0.0: 0.4, 0.5: 0.3}, 0.5)))
    guarded = eta.story(eta.path_of(_events({0.0: 0.4, 0.5: 0.3}, 0.2, "target only")))
    assert "hurts at every η tried, 0 to 0.5: the target" in guarded and "takes “target only”" in guarded
    few = " But 6 rows tell little: the shaded 95% likelihood interval has η = 0 to 0.5. "
    assert eta.story(path, 6) == text + few + "See how examples drawn anew do, over 10 seeds."
    assert eta.apart(6) == pytest.approx(0.32, abs=1e-3)  # chi-squared of one degree of freedom: 3.84 / 2 / 6
    assert eta.story(path, eta.FEW) == text
    assert eta.path_of(_events({0.5: 0.3}, 0.2)) is None and eta.path_of([]) is None


def test_the_mean_of_all_eta_is_not_called_chosen():
    path = eta.path_of(_events({0.1: 0.72, 0.5: 0.7, 5.0: 0.5}, 0.6))._replace(voted=0.48)
    text = eta.story(path)
    assert "at η = 0.5 and less transfer hurts." in text
    assert text.endswith("the more. Together they have 0.480. η = 0.5 is only their mean.")


def test_an_eta_that_makes_no_difference_is_not_called_the_best():
    path = eta.path_of(_events({0.0: 0.899, 0.5: 0.899 - 1e-10, 5.0: 0.899}, 0.95))
    text = eta.story(path)
    assert "η makes no difference here (log loss 0.899)" in text and "is best" not in text and "larger" not in text
    layout = figures.eta_scale(0.5, {"auto": 0.5}, path[:2])["layout"]
    assert np.ptp(layout["yaxis"]["range"]) > 0.01


@pytest.mark.parametrize(
    ("voted", "rows", "words"),
    [
        (0.899, 6, "over these 6 rows that is 1.0 nats less, and its guard asks for 3, steepness counted."),
        (0.899, 60, "over these 60 rows that is 9.7 nats less, and its guard asks for 3, steepness counted."),
        (0.7, 6, "all η together have 0.700."),
        (None, 6, "over these 6 rows that is 0.9 nats less, and its guard asks for 3, steepness counted."),
    ],
)  # fmt: skip
def test_the_story_tells_why_the_guard_keeps_boosting_that_loses_more(voted, rows, words):
    (first,) = _events({0.0: 0.9, 0.5: 0.89}, 0.737)
    if voted is not None:
        for name, value in (("kind", "boosting"), ("learner", "both"), ("eta", None), ("loss", voted), ("share", 0.0)):
            first.detail["eta_path"][name].append(value)
    path = eta.path_of([first])
    text = eta.story(path, rows)
    assert "hurts at every η tried" in text and f"“auto” boosts all the same: {words}" in text
