"""Lessons: each step is passed by what it asks for and failed by anything else, and answers are those of the page."""

from __future__ import annotations

import pytest

from hetcore.events import RoundEnd
from studio.jobs.job import Setting
from studio.views.common import lessons
from studio.views.common.lessons import LESSONS, Facts, passed
from studio.views.common.widgets import PAGES


def event(error, weights=None, left=0.0, disagreement=0.0):
    detail = {"metric": {"held_out": error}, "metric_name": "error", "disagreement": disagreement}
    return RoundEnd("GBC", 0, 1, {}, weights or {}, residual_autocorrelation={"ring": left}, detail=detail)


def shown(now, before=None, label="Consensus", operations=(), **params):
    setting = Setting("GBCClassifier", params, list(operations))
    earlier = {label: (setting, [before])} if before else {}
    return Facts({label: setting}, {label: [now]}, earlier, finished=True)


def test_every_lesson_is_on_a_page_and_has_three_to_six_steps_or_two_and_a_question():
    assert {lesson.page for lesson in LESSONS.values()} <= {name for _, name, _ in PAGES} and len(LESSONS) == 6
    for lesson in LESSONS.values():
        assert 3 <= len(lesson.steps) <= 6 and lesson.steps[-1].answer and lesson.steps[-1].hint


@pytest.mark.parametrize("key", LESSONS)
def test_no_step_is_passed_on_a_page_where_nothing_was_trained_or_a_training_goes_on(key):
    going = shown(event(0.1), event(0.2), lambda0=0, lambda1=0, eta=0)._replace(finished=False)
    for step in LESSONS[key].steps:
        assert not passed(step, Facts(), "less") and not passed(step, going, "less")


def test_the_lesson_on_agreement_passes_what_was_done_and_no_other_answer():
    train, none, much, question = LESSONS["agreement"].steps
    low, high = event(0.1, disagreement=0.5), event(0.1, disagreement=0.2)
    assert passed(train, shown(low, lambda0=0.3)) and not passed(none, shown(low, lambda0=0.3))
    assert passed(none, shown(low, lambda0=0)) and not passed(none, shown(low, lambda0="auto"))
    assert not passed(much, shown(high, lambda0=1.0)) and passed(much, shown(high, low, lambda0=1.0))
    page = shown(high, low, lambda0=1.0)
    assert [passed(question, page, given) for given in question.options(page)] == [True, False, False]
    page = shown(low, high, lambda0=1.0)
    assert [passed(question, page, given) for given in question.options(page)] == [False, False, True]


def test_few_labels_and_no_change_are_seen():
    few, none, some, question = LESSONS["neighbours"].steps
    assert passed(few, shown(event(0.1), operations=[{"op": "labels", "fraction": 0.1, "seed": 0}]))
    assert not passed(few, shown(event(0.1), operations=[{"op": "labels", "fraction": 0.3, "seed": 0}]))
    page = shown(event(0.1), event(0.1), lambda1=0.4)
    assert passed(some, page) and passed(question, page, "as much") and not passed(question, page, "less")


def test_the_source_that_lost_most_is_found():
    noise = {"op": "noise", "name": "a", "sd": 1.0, "seed": 0}
    page = shown(event(0.1, {"a": 0.1, "b": 0.9}), event(0.1, {"a": 0.6, "b": 0.4}), operations=[noise])
    _, choose, question = LESSONS["noise"].steps
    assert passed(choose, page) and not passed(choose, page._replace(before={}))
    assert passed(question, page, "a") and not passed(question, page, "b")


def test_the_method_that_leaves_least_and_that_errs_least_are_found():
    setting = Setting("MGBRegressor", {}, [])
    events = {"GB": [event(0.2, left=0.5)], "MGB": [event(0.3, left=-0.1)]}
    page = Facts(dict.fromkeys(events, setting), events, {}, finished=True)
    _, left, best = LESSONS["left"].steps
    assert passed(left, page, "MGB") and not passed(left, page, "GB")
    # The chart of what is left draws Moran's I, which may have them in another order.
    for label, moran in (("GB", 0.05), ("MGB", 0.06)):
        events[label][0].detail["moran"] = {"ring": moran}
    assert passed(left, page, "GB") and not passed(left, page, "MGB")
    assert passed(best, page, "GB") and not passed(best, page, "MGB")


def test_the_method_that_errs_least_is_that_of_the_numbers_above_the_curves():
    """Collective goes back to a stage, and forests to a round: their lines' ends made the other model the right one."""
    setting, (*_, best) = Setting("MGBRegressor", {}, []), LESSONS["left"].steps
    back = event(0.5)
    back.detail["best_stage"] = 0
    page = Facts(dict.fromkeys("ab", setting), {"a": [event(0.1), back], "b": [event(0.3), event(0.2)]}, finished=True)
    assert passed(best, page, "a") and not passed(best, page, "b")
    _, _, best = LESSONS["trust"].steps
    page = page._replace(scores={"a": {"metric": "error", "held_out": 0.4}})
    assert passed(best, page, "b") and not passed(best, page, "a")


def test_of_what_reads_the_same_each_is_right():
    """Forests of 2.36% and 2.41% both read 2.4%, and whoever named the second was told that it was not so."""
    setting, (*_, best) = Setting("HGBMClassifier", {}, []), LESSONS["trust"].steps
    page = Facts(dict.fromkeys("ab", setting), {"a": [event(0.0236)], "b": [event(0.0241)]}, finished=True)
    assert passed(best, page, "a") and passed(best, page, "b")
    page.events["b"][0] = event(0.0251)
    assert passed(best, page, "a") and not passed(best, page, "b")


def test_what_leaves_least_along_the_graph_that_is_shown_is_right_whichever_it_is():
    setting, (_, left, _) = Setting("MGBRegressor", {}, []), LESSONS["left"].steps
    ends = {label: [event(0.1)] for label in ("GB", "RGB", "MGB")}
    for label, moran in (("GB", (0.01, 0.5)), ("RGB", (0.02, 0.1)), ("MGB", (0.03, 0.6))):
        ends[label][0].detail["moran"] = dict(zip(("near", "far"), moran))
    page = Facts(dict.fromkeys(ends, setting), ends, finished=True)
    assert passed(left, page, "GB") and passed(left, page, "RGB") and not passed(left, page, "MGB")


def test_eta_by_hand_and_corrupted_labels_are_seen():
    _, none, much, question = LESSONS["transfer"].steps
    label = "Weighted MultiSource"
    assert passed(none, shown(event(0.2), eta=0.0, label=label))
    assert not passed(none, shown(event(0.2), eta="auto", label=label))
    page = shown(event(0.4), event(0.2), eta=10.0, label=label)
    assert passed(much, page) and passed(question, page, "more")
    assert not passed(question, shown(event(0.4), event(0.2), eta=10.0, label="Blend"), "more")
    _, more, _ = LESSONS["trust"].steps
    for name, share in (("flip_labels", 0.3), ("label_noise", 0.5)):
        assert passed(more, shown(event(0.1), operations=[{"op": name, "share": share, "seed": 0}]))
    assert not passed(more, shown(event(0.1), operations=[{"op": "flip_labels", "share": 0.2, "seed": 0}]))
    assert lessons.of_page("Noise").keys() == {"trust"}


def test_a_question_about_kept_models_tells_their_numbers_from_those_of_last_rounds():
    asked = [step for lesson in LESSONS.values() for step in lesson.steps if step.answer is lessons._least_wrong]
    assert len(asked) == 2 and all("kept models" in step.hint and "last rounds" in step.hint for step in asked)
