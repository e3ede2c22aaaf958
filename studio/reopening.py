"""What opens a stored run again: the query of its page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from studio.run import Run
from studio.run_table import example_of

__all__ = ["query", "refusal"]

PARAMETERS = ("lambda0", "lambda1", "learning_rate", "n_iterations", "max_depth", "random_state")


def query(run: Run) -> dict[str, str]:
    """Return the query parameters under which the page shows the run's data and settings."""
    params = run.settings.get("params", {})
    found = {name: f"{params[name]}" for name in PARAMETERS if params.get(name) is not None}
    example = example_of(run)
    return found | ({"data": example} if example else {})


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
