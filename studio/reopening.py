"""What opens a stored run again: the data operations before the page's own, and the values of its controls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from studio.run import Run
from studio.run_table import example_of

__all__ = ["controls", "operations", "refusal"]

KEYS = {
    "lambda0": "l0",
    "lambda1": "l1",
    "learning_rate": "rate",
    "n_iterations": "rounds",
    "max_depth": "depth",
    "random_state": "seed",
    "as_printed": "printed",
}
"""Keys of the Consensus page's controls by parameter."""
ORDER = ("labels", "drop_graph", "drop_source", "noise")
"""The page's own operations, last ones first."""


def refusal(run: Run, recipe: Mapping[str, Any]) -> str:
    """Return why a run cannot be opened again, empty if it can.

    Parameters
    ----------
    run : Run
    recipe : mapping
        Of the data in use, see `studio.recipes`.
    """
    if example_of(run) or run.settings.get("data") == recipe:
        return ""
    return "Its files are no longer here: upload them again on the Data page, then reopen."


def operations(run: Run) -> list[dict[str, Any]]:
    """Return the operations that were done on the data before the page's own."""
    return _parted(run)[0]


def controls(run: Run, title: str, sources: Sequence[str], graphs: Sequence[str]) -> dict[str, Any]:
    """Return the values of the page's controls by their keys.

    Parameters
    ----------
    run : Run
    title : str
        Of the data in use.
    sources, graphs : sequences of str
        Names in the data in use.
    """
    own = _parted(run)[1]
    params = run.settings.get("params", {})
    values = {key: params[name] for name, key in KEYS.items() if params.get(name) is not None}
    gone = {operation["name"] for operation in own if operation["op"].startswith("drop_")}
    values[f"sources {title}"] = [name for name in sources if name not in gone]
    values[f"graphs {title}"] = [name for name in graphs if name not in gone]
    values["known"], values[f"noisy {title}"] = 100, "none"
    for operation in own:
        if operation["op"] == "labels":
            values["known"] = round(100 * operation["fraction"])
        elif operation["op"] == "noise":
            values |= {f"noisy {title}": operation["name"], "sd": operation["sd"]}
    return values


def _parted(run: Run) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the operations before the page's own, and those."""
    given = list(run.settings.get("operations") or ())
    end = len(given)
    for op in ORDER:
        while end and given[end - 1]["op"] == op:
            end -= 1
            if op in ("labels", "noise"):
                break
    return given[:end], given[end:]
