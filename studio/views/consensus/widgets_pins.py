"""Pinned scenarios of the Consensus page: named by λ0 and λ1, drawn with the sources' weights."""

from __future__ import annotations

from typing import Any

from hetcore.data import HetData
from studio.messages import number
from studio.runs.differences import as_run, named, value_text, within
from studio.views.common import widgets_pins
from studio.views.common.curves import SCORED, Events, scored_rows
from studio.views.common.widgets_pins import Look, Pin
from studio.views.consensus.widgets import figures_of

__all__ = ["pinned"]

PAGE = "Consensus"
PANES = ("error", "weights")
LAMBDAS = ("lambda0", "lambda1")


def pinned(now: Pin, data: HetData, owner: str) -> None:
    """Draw the pinned scenarios; see `studio.views.common.widgets_pins`."""

    def figures(events: Events) -> dict[str, dict[str, Any]]:
        drawn = figures_of(next(iter(events.values())), data)
        return {name: drawn[name] for name in PANES}

    widgets_pins.pinned(now, PAGE, data, owner, Look(_parts, _row, figures))


def _parts(pin: Pin) -> list[str]:
    params = as_run(next(iter(pin.settings.values())).params)
    return [*(f"{named(name)} {within(params[name], name)}" for name in LAMBDAS), *widgets_pins.done_to(pin)]


def _row(pin: Pin) -> dict[str, Any]:
    """Return a scenario as a row of the table."""
    setting, events = next(iter(pin.settings.values())), next(iter(pin.events.values()))
    params, last = as_run(setting.params), events[-1]
    metric, name = last.detail["metric"], last.detail["metric_name"]
    scored = scored_rows(metric)
    row = {"data": pin.title} | {named(name): _cell(name, params[name]) for name in LAMBDAS}
    row |= {"as printed": params["as_printed"]}
    # Of which labels too: of a scenario that knows all of them none is held out.
    row |= {"rounds": len(events), f"{name}, {SCORED[scored]}": number(metric[scored], name)}
    return row | {f"weight of {name}": round(w, 3) for name, w in last.source_weights.items()}


def _cell(name: str, value: Any) -> Any:
    """Return a parameter as a cell of the table, which sorts numbers as numbers."""
    return value_text(value, name) if isinstance(value, str) else value
