"""What the Collective page does with trainings, without a page: settings side by side, and a verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import hetcore as hc
from hetcore.data import HetData
from studio.jobs.job import Setting
from studio.messages import difference, minus, number, shown
from studio.views.common.curves import SCORED, Events, kept, scored_set
from studio.views.common.paired import Paired

__all__ = ["EXAMPLES", "FEATURES", "LABELS", "why_not", "settings", "verdict"]

LABELS = ("GB", "RGB", "MGB")
"""What is trained side by side."""
FEATURES = {
    "rf1": "what the neighbours' targets are",
    "rf2": "the neighbours' residuals of this stage",
    "rf3": "the neighbours' residuals of the stage before",
    "rf4": "its own prediction of the stage before",
}
EXAMPLES = "autocorrelated", "movie_revenue"
"""The data sets that show the page best; the first is always there, and neighbours help the most in it."""
WORTH = 0.01
"""Share of GB's error that is worth a word."""


# Settings -------------------------------------------------------------------------------------------------------------


def why_not(data: HetData) -> str:
    """Return why data do not suit the page, in one sentence; empty if they do."""
    if not any(graph.n_edges for graph in data.graphs.values()):
        return "Collective inference goes along the links of a graph, and these data have none."
    if data.target_kind is None or not data.labelled.any():
        return "There is nothing to learn from: the data have no label."
    return ""


def settings(
    data: HetData,
    params: Mapping[str, Any],
    features: Sequence[str],
    graphs: Sequence[str],
    operations: Sequence[Mapping[str, Any]],
) -> dict[str, Setting]:
    """Return what is trained side by side, by label.

    Parameters
    ----------
    data : HetData
    params : mapping
        Parameters; each class is given those that it takes.
    features : sequence of str
        MGB's, of `FEATURES`.
    graphs : sequence of str
        Along which is inferred.
    operations : sequence of mappings
        See `studio.scenarios`.
    """
    own = {"GB": (), "RGB": ("rf1",), "MGB": tuple(features)}
    numbers = data.target_kind == "regression"
    names = {label: f"{label}Regressor" if numbers else "MGBClassifier" for label in LABELS}
    made, plain = {}, hc.GBRegressor().get_params()
    for label, name in names.items():
        taken = getattr(hc, name)._get_param_names()
        # Only what the method takes: a plain one has no features of neighbours, nor ways to sum them up.
        used = params if label != "GB" else {key: value for key, value in params.items() if key in plain}
        given = {key: value for key, value in (dict(used) | {"features": own[label]}).items() if key in taken}
        made[label] = Setting(name, given, [dict(each) for each in operations], {"graph": list(graphs)})
    return made


# What trainings came to -----------------------------------------------------------------------------------------------


def verdict(events: Events, graph: str, to_plain: Mapping[str, Paired] | None = None) -> str:
    """Say in two sentences whether collective inference pays here, and whether what is left is noise.

    Parameters
    ----------
    events : mapping of str to sequence of RoundEnd
        By label.
    graph : str
        What is left along.
    to_plain : mapping of str to Paired, optional
        By label, the difference to GB on held-out instances; without it, the errors alone are compared.
    """
    scored = scored_set(events)
    ends = {label: kept(each) for label, each in events.items() if each}
    if not {"GB", "MGB"} <= set(ends):
        return ""
    metric = {label: end.detail["metric"][scored] for label, end in ends.items()}
    name = ends["MGB"].detail["metric_name"]
    scores = ", ".join(f"{label} {number(value, name)}" for label, value in metric.items())
    # Without an error there is nothing to save.
    gain = 1 - metric["MGB"] / metric["GB"] if metric["GB"] else 0.0
    pays = f"{'saves' if gain > 0 else 'costs'} {abs(gain):.1%} of the error of GB"
    if abs(gain) < WORTH:
        pays = minus(f"hardly changes the error ({gain:+.1%})")
    # The same difference by pairs counts more than the two means.
    if (gap := (to_plain or {}).get("MGB")) is not None and gap.less is None:
        pays = "makes no difference to GB beyond two standard errors"
    title = "Error" if name == "error" else name
    left = _left(ends["MGB"], graph)
    moved = settled(ends["MGB"], last=ends["MGB"] is events["MGB"][-1])
    both = " ".join(text for text in (left, moved) if text)
    both = " ".join(text for text in (became(ends), both) if text)
    return f"{title}, {SCORED[scored]}: {scores}. Inferring together {pays} here. {both}".strip()


def became(ends: Mapping[str, Any]) -> str:
    """Say which models became GB, and why; empty where none did.

    Parameters
    ----------
    ends : mapping of str to RoundEnd
        By label, of the stage that predicts.
    """
    # A run of an earlier version does not say.
    names = [label for label in LABELS if label in ends and ends[label].detail.get("became_gb", False)]
    why = "neighbours did not clearly lower the error on left-out labels"
    return f"{' and '.join(names)} became GB: {why}." if names else ""


def settled(end: Any, last: bool = True) -> str:
    """Say how many predictions the last sweep still moved; empty where nothing was inferred.

    Parameters
    ----------
    end : RoundEnd
        Of the stage that predicts.
    last : bool, default=True
        Whether it is the last stage, whose sweeps the page draws; else the sentence says that it is another.
    """
    moving, visits = end.detail.get("moving", []), end.detail.get("visits", [])
    if not moving:
        return ""
    share = moving[-1] / max(visits[0], 1)
    sweeps = "1 sweep" if len(moving) == 1 else f"{len(moving)} sweeps"
    of_model = "" if last else " of the kept model (★)"
    if not moving[-1]:
        return f"Inference{of_model} settled after {sweeps}."
    return f"{moving[-1]:,} of {visits[0]:,} predictions{of_model} ({share:.1%}) still moved in the last of {sweeps}."


def _left(end: Any, graph: str) -> str:
    value, band = end.detail["moran"].get(graph, np.nan), end.detail["band"].get(graph, (np.nan, np.nan))
    if not np.isfinite([value, *band]).all():
        return ""
    within = minus(f"the band of noise, {band[0]:.3f} to {band[1]:.3f}")
    found = minus(f"Moran's I {value:.3f} lies")
    if value > band[1]:
        what = f"What MGB leaves is still alike along {shown(graph)}"
        return f"{what}: {found} {difference(value, band[1], 3):.3f} above {within}."
    if value < band[0]:
        what = f"What MGB leaves differs along {shown(graph)}"
        return f"{what}: {found} {difference(band[0], value, 3):.3f} below {within}."
    return f"What MGB leaves is noise along {shown(graph)}: {found} in {within}."
