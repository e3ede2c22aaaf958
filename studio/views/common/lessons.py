"""Lessons: a few steps on a live page, each with a check of what was done there or of an answer.

What counts as right is computed from the trainings on the page, so that a lesson holds for any data and any setting.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from studio.jobs.job import Setting
from studio.messages import number
from studio.views.common.curves import kept, scored_rows

__all__ = ["LESSONS", "Facts", "Lesson", "Step", "of_page", "passed"]

SAME = 0.02
"""Share of a value up to which a change is called none."""
TREND = ("less", "as much", "more")


class Facts(NamedTuple):
    """What a page shows.

    Attributes
    ----------
    settings, events : mapping of str to Setting, to sequence of RoundEnd
        Of the trainings that are shown, by label.
    before : mapping of str to (Setting, sequence of RoundEnd)
        The finished trainings before them.
    finished : bool
        Whether those that are shown have finished.
    runs : mapping of str to str
        Their ids.
    scores : mapping of str to mapping
        What the models that are kept of them came to, see `studio.jobs.results.RunResult`.
    title : str
        Of the data.
    """

    settings: Mapping[str, Setting] = {}
    events: Mapping[str, Sequence[Any]] = {}
    before: Mapping[str, tuple[Setting, Sequence[Any]]] = {}
    finished: bool = False
    runs: Mapping[str, str] = {}
    scores: Mapping[str, Mapping[str, Any]] = {}
    title: str = ""


class Step(NamedTuple):
    """One step.

    Attributes
    ----------
    text : str
        What to do, or a question.
    done : callable
        Returns whether the page shows that it was done.
    options, answer : callable, optional
        Of a question: what can be answered, and which of it is right on this page: of equals, each.
    hint : str
        Where to look after a wrong answer.
    """

    text: str
    done: Callable[[Facts], bool]
    options: Callable[[Facts], list[str]] | None = None
    answer: Callable[[Facts], Collection[str]] | None = None
    hint: str = ""


class Lesson(NamedTuple):
    """A title, the page that it is held on, its steps, and what it has shown."""

    title: str
    page: str
    steps: tuple[Step, ...]
    summary: str


def of_page(page: str) -> dict[str, Lesson]:
    """Return the lessons of a page by key."""
    return {key: lesson for key, lesson in LESSONS.items() if lesson.page == page}


def passed(step: Step, facts: Facts, given: str | None = None) -> bool:
    """Return whether a step is done, or its question answered right."""
    if not step.done(facts):
        return False
    return step.answer is None or given in step.answer(facts)


def _finished(facts: Facts) -> bool:
    return facts.finished and all(facts.events.values())


def _changed(facts: Facts) -> bool:
    return _finished(facts) and bool(facts.before)


def _parameter(name: str, holds: Callable[[Any], bool], compared: bool = False) -> Callable[[Facts], bool]:
    """Return a check of a parameter of the trainings that are shown; `compared` asks for others before them."""

    def done(facts: Facts) -> bool:
        values = [setting.params.get(name) for setting in facts.settings.values() if name in setting.params]
        numbers = [value for value in values if isinstance(value, int | float)]
        return (_changed if compared else _finished)(facts) and bool(numbers) and all(map(holds, numbers))

    return done


def _operation(name: str, holds: Callable[[Mapping[str, Any]], bool] = bool) -> Callable[[Facts], bool]:
    def done(facts: Facts) -> bool:
        found = [each for setting in facts.settings.values() for each in setting.operations if each["op"] == name]
        return _finished(facts) and any(map(holds, found))

    return done


def _is(number: float) -> Callable[[Any], bool]:
    return lambda value: value == number


def _last(events: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    return {label: each[-1] for label, each in events.items() if each}


def _before(facts: Facts) -> dict[str, Any]:
    return _last({label: events for label, (_, events) in facts.before.items()})


def _metric(event: Any) -> float:
    return float(event.detail["metric"][scored_rows(event.detail["metric"])])


def _trend(of: Callable[[Any], float], label: str = "") -> Callable[[Facts], Collection[str]]:
    """Return how a number of a training moved from the one before to this one; of the first unless named."""
    named = label

    def answer(facts: Facts) -> Collection[str]:
        now, before = _last(facts.events), _before(facts)
        label = named or next(label for label in now if label in before)
        old, new = of(before[label]), of(now[label])
        if abs(new - old) <= SAME * abs(old):
            return [TREND[1]]
        return [TREND[0] if new < old else TREND[2]]

    return answer


def _least_alike(facts: Facts) -> Collection[str]:
    """Return the training that leaves least along each graph: the chart draws one of them, whichever was chosen."""
    # As that chart has it: the correlation over links may put them in another order.
    left = {label: event.detail.get("moran") or event.residual_autocorrelation
            for label, event in _last(facts.events).items()}  # fmt: skip
    graphs = {graph for each in left.values() for graph, value in each.items() if np.isfinite(value)}
    return {min(left, key=lambda label: _size(left[label].get(graph))) for graph in graphs}


def _size(value: float | None) -> float:
    return abs(value) if value is not None and np.isfinite(value) else np.inf


def _least_wrong(facts: Facts) -> Collection[str]:
    """Return the trainings whose kept models err least: these numbers stand above the curves, not those of line ends.

    What reads the same is the same to a reader.
    """
    ends = {label: kept(each).detail for label, each in facts.events.items() if each}
    metrics = {label: end["metric"] | dict(facts.scores.get(label, {})) for label, end in ends.items()}
    rows = scored_rows(*metrics.values())
    read = {label: number(metrics[label][rows], end["metric_name"]) for label, end in ends.items()}
    least = min(metrics, key=lambda label: metrics[label][rows])
    return [label for label in read if read[label] == read[least]]


def _lost_most(facts: Facts) -> Collection[str]:
    """Return the source whose weight fell most from the training before to this one."""
    now, before = _last(facts.events), _before(facts)
    label = next(label for label in now if label in before)
    old, new = before[label].source_weights, now[label].source_weights
    return [min(new, key=lambda name: new[name] - old.get(name, 0.0))]


def _weighted(facts: Facts) -> bool:
    """Whether this training and the one before have the method that has an η."""
    return _changed(facts) and "Weighted MultiSource" in facts.events and "Weighted MultiSource" in facts.before


def _trends(facts: Facts) -> list[str]:
    return list(TREND)


def _labels(facts: Facts) -> list[str]:
    return list(facts.events)


def _sources(facts: Facts) -> list[str]:
    return list(next(iter(_last(facts.events).values())).source_weights)


TRAIN = Step("Press **Train**, and wait until it has finished.", _finished)
LESSONS = {
    "agreement": Lesson(
        "λ0: sources that agree", "Consensus",
        (
            TRAIN,
            Step("λ0 pulls each source to what the others predict. Move **λ0** to 0.", _parameter("lambda0", _is(0))),
            Step("Now move **λ0** to 1 or more.", _parameter("lambda0", lambda value: value >= 1, compared=True)),
            Step("Open **Disagreement** below the curves. Against the training before, the sources now "
                 "disagree …", _changed, _trends,
                 _trend(lambda event: float(event.detail["disagreement"])),
                 "Compare the line's end with the pale line's."),
        ),
        "λ0 pulls sources together where no label speaks. It need not make them more alike in the end, for each still "
        "learns from its labels: good where sources err each in its own way, bad where one alone is right.",
    ),
    "neighbours": Lesson(
        "λ1: neighbours", "Consensus",
        (
            Step("Links matter most where labels are few: set **Labels known** to 10 or less, and train.",
                 _operation("labels", lambda each: each["fraction"] <= 0.1)),
            Step("Switch **λ1 chosen out of fold** off and move **λ1** to 0.", _parameter("lambda1", _is(0))),
            Step("Now move **λ1** to 0.3 or more.", _parameter("lambda1", lambda value: value >= 0.3, compared=True)),
            Step("The error of the held-out labels is now …", _changed, _trends, _trend(_metric),
                 "The sentence above the tabs says from what to what."),
        ),
        "λ1 makes the consensus smooth along links: it helps as far as linked instances are alike.",
    ),
    "noise": Lesson(
        "A noisy source", "Consensus",
        (
            TRAIN,
            Step("Choose a source under **Noise in a source**.",
                 lambda facts: _changed(facts) and _operation("noise")(facts)),
            Step("Which source lost most of its weight?", _changed, _sources, _lost_most,
                 "Compare the ends of the weights with the pale ones."),
        ),
        "Weights come from losses on rows that were left out: noise costs a source its weight, and the rest goes on.",
    ),
    "left": Lesson(
        "Collective inference, and what is left", "Collective",
        (
            TRAIN,
            Step("Whose residuals are least alike along the links at the end?", _finished, _labels, _least_alike,
                 "Look at what is left along the links: nearest to 0."),
            Step("Which has the lowest error on the held-out labels?", _finished, _labels, _least_wrong,
                 "The large numbers are of the kept models, those beside the lines of last rounds."),
        ),
        "What neighbours share and a method leaves behind is what collective inference can still use.",
    ),
    "transfer": Lesson(
        "η, and when transfer hurts", "Transfer",
        (
            TRAIN,
            Step("Choose **by hand** under η and move it to 0: all domains count alike.", _parameter("eta", _is(0))),
            Step("Now move **η by hand** to 10 or more: little but the target counts.",
                 _parameter("eta", lambda value: value >= 10, compared=True)),
            Step("The error of Weighted MultiSource on the target's other rows is now …", _weighted, _trends,
                 _trend(_metric, "Weighted MultiSource"), "Its accuracy stands above the curves, with what changed."),
        ),
        "Too little η, and sources that differ teach wrongly; too much, and few rows teach alone.",
    ),
    "trust": Lesson(
        "Which rows to trust", "Noise",
        (
            TRAIN,
            Step("Flip or disturb more labels: move the share to 30 or more.",
                 lambda facts: any(_operation(name, lambda each: each["share"] >= 0.3)(facts)
                                   for name in ("flip_labels", "label_noise"))),
            Step("Which model has the lower error on the held-out labels?", _finished, _labels, _least_wrong,
                 "The large numbers are of the kept models, those beside the lines of last rounds."),
        ),
        "A model that learns how far each label strays gives rows that fit nobody less say.",
    ),
}  # fmt: skip
