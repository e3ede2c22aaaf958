"""How an estimator is displayed in a notebook: its parameters, and what it learned."""

from __future__ import annotations

from typing import Any

import numpy as np

from hetcore.data.markup import bar, line, plain, table

__all__ = ["estimator_html"]


def estimator_html(model: Any) -> str:
    """Return an estimator as HTML: what differs from the defaults and, once fitted, rounds, loss and weights."""
    defaults = {name: each.default for name, each in model._parameters.items()}
    given = {name: getattr(model, name, None) for name in defaults}
    changed = [
        [plain(name), plain(repr(value), 80)] for name, value in given.items() if _differs(value, defaults[name])
    ]
    parts = [f"<p><strong>{plain(type(model).__name__)}</strong>, {plain(_fitted_words(model))}</p>"]
    parts += [table(["parameter", "value"], changed)] if changed else []
    return "<div>" + "".join([*parts, *_learned(model)]) + "</div>"


def _differs(value: Any, default: Any) -> bool:
    # by type and text: the values may be arrays or estimators, whose == is no truth value
    return type(value) is not type(default) or repr(value) != repr(default)


def _fitted_words(model: Any) -> str:
    rounds = getattr(model, "n_iterations_", None)
    return "not fitted" if rounds is None else f"fitted in {rounds:,} rounds"


def _learned(model: Any) -> list[str]:
    parts = []
    history = getattr(model, "history_", None)
    if history is not None and "loss:train" in history.columns:
        losses = history["loss:train"].to_numpy()
        if len(losses) > 1 and np.isfinite(losses).all():
            words = f"training loss from {losses[0]:.3g} to {losses[-1]:.3g}"
            parts.append(f"<p>{plain(words)}</p>{line(losses.tolist(), words)}")
    for noun in ("source", "graph"):
        # a method may lack them, or have none before a fit
        weights = getattr(model, f"{noun}_weights_", None) or {}
        rows = [[plain(name, 60), bar(weight, f"{weight:.3f}")] for name, weight in weights.items()]
        parts += [table([noun, "weight"], rows)] if rows else []
    return parts
