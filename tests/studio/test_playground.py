"""Made-up data in the plane: who sees what, links, and what a consensus predicts of each place, round by round."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from hetcore.errors import ParameterError
from studio.views.playground import plane, widgets
from studio.views.playground.plane import SHAPE, STAGES, Knobs
from tests.studio.test_glossary import contrast


def _displaced(made, name):
    seen = made.data.sources[name].frame.select("x", "y").to_numpy()
    return np.linalg.norm(seen - made.places, axis=1)


def test_each_source_sees_its_half_and_the_noise_sees_none():
    made = plane.make(Knobs())
    west = made.places[:, 0] <= plane.MIDDLE
    assert _displaced(made, "west")[west].max() < 0.3 < np.median(_displaced(made, "west")[~west])
    assert _displaced(made, "east")[~west].max() < 0.3 < np.median(_displaced(made, "east")[west])
    everything = plane.make(Knobs(knows="everything", noise=0.0))
    assert _displaced(everything, "west").max() == 0.0 == _displaced(everything, "east").max()
    noise = made.data.sources["noise"].frame.select("x", "y").to_numpy()
    assert abs(np.corrcoef(noise[:, 0], made.places[:, 0])[0, 1]) < 0.2


@pytest.mark.parametrize("homophily", [0.0, 0.5, 1.0])
def test_links_stay_within_a_class_as_often_as_asked(homophily):
    made = plane.make(Knobs(homophily=homophily, n=400))
    ends = made.data.y[made.links]
    assert abs((ends[:, 0] == ends[:, 1]).mean() - homophily) < 0.06
    assert made.data.graphs["friends"].n_edges <= len(made.links)


def test_the_same_seed_makes_the_same_data_and_another_others():
    assert plane.make(Knobs()).data.digest() == plane.make(Knobs()).data.digest()
    assert plane.make(Knobs()).data.digest() != plane.make(Knobs(seed=1)).data.digest()


@pytest.mark.parametrize("wrong", [{"noise": -1.0}, {"homophily": 1.5}, {"knows": "nothing"}, {"n": 3}])
def test_knobs_outside_their_domain_are_refused(wrong):
    with pytest.raises(ParameterError, match="no data in a plane"):
        plane.make(Knobs(**wrong))


def test_the_points_that_are_drawn_are_those_that_are_trained_on():
    scene = plane.scene(Knobs(known=0.25))
    assert sum(label is not None for label in scene["labels"]) == 50
    stage = {"surfaces": dict.fromkeys(scene["points"], np.zeros(SHAPE[::-1]))}
    drawn = {name: plane.figure(scene, stage, name)["data"] for name in scene["points"]}
    points = [trace for trace in drawn["consensus"] if trace.get("mode") == "markers"]
    assert sum(len(trace["x"]) for trace in points) == 200 and len(points) == 4
    assert [len(traces) for traces in drawn.values()].count(6) == 1  # the links, with the consensus alone


def test_points_stand_off_the_shade_of_their_own_class_in_the_dark_too():
    """On the page's dark they had a contrast of 1.4, on its light of 2.3: points that a model gets right were lost."""
    scene = plane.scene(Knobs())
    drawn = plane.figure(scene, {"surfaces": {"west": np.zeros(SHAPE[::-1])}}, "west")
    shade, below = drawn["data"][0], drawn["layout"]["plot_bgcolor"]
    for trace, end in ((drawn["data"][1], 0), (drawn["data"][3], -1)):
        assert contrast(trace["marker"]["color"], _over(shade["colorscale"][end][1], below, shade["opacity"])) > 3


def _over(colour, below, opacity):
    parts = [[int(each[k : k + 2], 16) for k in (1, 3, 5)] for each in (colour, below)]
    return "#" + "".join(f"{round(opacity * one + (1 - opacity) * other):02x}" for one, other in zip(*parts))


def test_the_picture_of_the_links_shows_what_neighbours_with_a_label_say():
    links, labels = np.array([[0, 1], [0, 2], [1, 0], [3, 3]]), np.array([None, "orange", "blue", None], object)
    scene = {"links": links, "labels": labels, "truth": np.array(["blue", "orange", "blue", "blue"], object)}
    scene["points"] = {"consensus": np.arange(8.0).reshape(4, 2)}
    share = plane.neighbours(scene)
    assert share[0] == 0.5 and np.isnan(share[1:]).all()  # 1 and 2 know only 0, which has no label
    drawn, blue, orange = plane.graph_figure(scene)["data"]
    assert blue["text"] == ["50% orange", "no neighbour with a label", "no neighbour with a label"]
    assert blue["marker"]["symbol"] == ["circle", "circle-open", "circle-open"] and drawn["mode"] == "lines"
    assert orange["x"].tolist() == [2.0]


def test_homophily_turns_what_the_links_say():
    def right(homophily):
        scene = plane.scene(Knobs(homophily=homophily))
        share = plane.neighbours(scene)
        seen = np.isfinite(share) & (share != 0.5)
        return ((share[seen] > 0.5) == (scene["truth"][seen] == "orange")).mean()

    assert right(1.0) == 1.0 and right(0.0) == 0.0


@pytest.mark.slow
def test_the_consensus_is_right_and_the_noise_weighs_least_after_each_stage():
    events = []
    found = plane.stages(tuple(Knobs(n=120)), [lambda event: events.append(event) or len(events) == 3])
    assert [stage["round"] for stage in found] == list(STAGES[:3]) == [e.detail["round"] for e in events]
    for stage in found:
        surfaces = {name: np.array(surface) for name, surface in stage["surfaces"].items()}
        assert {surface.shape for surface in surfaces.values()} == {SHAPE[::-1]}
        assert min(stage["weights"], key=stage["weights"].get) == "noise"
        assert stage["error"] < 0.25 and surfaces["noise"].std() < surfaces["consensus"].std()


@pytest.mark.slow
def test_the_first_draw_shows_an_error_that_falls_and_a_noise_that_weighs_nothing():
    found = plane.stages(tuple(Knobs()))
    assert found[-1]["error"] < 0.8 * found[0]["error"]
    assert found[-1]["weights"]["noise"] < 0.05 < min(found[-1]["weights"][name] for name in ("west", "east"))
    assert found[-1]["error"] < found[-1]["error_without_links"]


def test_where_every_label_is_known_none_scores_the_consensus():
    """It was 0.0% wrong."""
    model = SimpleNamespace(predict=lambda data: np.array(["blue", "orange"], object))
    hidden, y = np.array([False, False]), np.array(["blue", "blue"], object)
    assert plane._error(model, None, y, hidden) is None and plane._error(model, None, y, ~hidden) == 0.5
    title = widgets._title({}, {"error": None, "error_without_links": None}, "consensus")
    assert title == "**Consensus**: no label is left to score it"


def test_the_title_of_a_source_is_what_it_knows():
    """West saw well what lies in the west, also where it knew everything alike, with the noise."""
    stage = {"weights": dict.fromkeys(plane.SOURCES, 0.3)}
    half, everything = (
        [widgets._title(plane.scene(Knobs(knows=knows, n=20)), stage, name).split(": ")[1] for name in plane.SOURCES]
        for knows in plane.KNOWS
    )
    assert half == ["sees well what lies in the west", "sees well what lies in the east", "sees nothing of it"]
    assert everything == [*["sees all of it, with the noise"] * 2, "sees nothing of it"]


def test_a_fit_that_settled_at_a_round_that_is_drawn_is_drawn_once(monkeypatch):
    """The slider of rounds had two places for it."""
    monkeypatch.setattr(plane, "_stage", lambda made, knobs, rounds: {"round": min(rounds, 8), "weights": {}})
    assert [stage["round"] for stage in plane.stages(tuple(Knobs()))] == [1, 2, 3, 5, 8]


def test_a_picture_of_other_knobs_is_named_as_one_until_these_are_trained(monkeypatch):
    """A training that the queue turned down left the picture before under the new knobs, and was never tried again."""
    wanted, captions, tried = Knobs(overlap=0.3), [], []

    class Full:
        def run_task(self, *_args, gives_way):
            assert gives_way  # it began by itself
            tried.append(wanted)
            raise ValueError("You have 8 unfinished runs already.")

    monkeypatch.setattr(widgets.jobs, "manager", Full)
    monkeypatch.setattr(widgets.st, "caption", captions.append)
    state = {"knobs": Knobs(), "run": "", "scene": None, "shown": (Knobs(), None, [])}
    for times in (1, 2):
        widgets._start(state, wanted, "me")
        widgets._say(None, state["shown"], wanted)
        assert len(tried) == times and captions[-1] == "Not trained. The picture is the one before."
    # in a class many wait, and "Training" over an empty page looked like a page that hangs
    widgets._say(SimpleNamespace(state="queued", active=True, rounds=0, place=3), None, wanted)
    assert captions[-1].strip() == "Waiting for other trainings: 3 in the queue."
    state["shown"] = (wanted, None, [])
    widgets._start(state, wanted, "me")
    widgets._say(None, state["shown"], wanted)
    assert len(tried) == 2 and captions[-1].startswith("Shade")
