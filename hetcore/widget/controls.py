"""The controls of an estimator's declared parameters, as plain values for a page, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from hetcore.parameters import Declared, Parameter

__all__ = ["AUTO", "controls", "parameters", "values"]

AUTO = "auto"


def controls(estimator: Declared) -> list[dict[str, Any]]:
    """Return the controls of the parameters that are declared with a slider.

    Parameters
    ----------
    estimator : Declared

    Returns
    -------
    list of dict
        name, label, help, low, high, step, and auto: whether it may be "auto". The ends reach the present value.
    """
    return [_control(each, getattr(estimator, each.name)) for each in _shown(estimator)]


def values(estimator: Declared) -> dict[str, float | str]:
    """Return the values of the parameters that have a control."""
    given = {each.name: getattr(estimator, each.name) for each in _shown(estimator)}
    return {name: value.item() if isinstance(value, np.generic) else value for name, value in given.items()}


def parameters(estimator: Declared, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of controls as parameters: whole numbers where the control is one's.

    Raises
    ------
    ParameterError
        If a value is outside its domain.
    """
    wanted = {each.name: _typed(each, given[each.name]) for each in _shown(estimator) if each.name in given}
    for each in _shown(estimator):
        if each.name in wanted:
            each.check(wanted[each.name])
    return wanted


def _shown(estimator: Declared) -> list[Parameter]:
    """Return the declarations with a slider whose value is a number, or "auto", and has an effect."""
    idle = estimator._without_effect
    declared = [each for each in estimator._parameters.values() if each.slider is not None and each.name not in idle]
    # A list or a function has no place on a slider.
    return [each for each in declared if isinstance(getattr(estimator, each.name), int | float | np.number | str)]


def _control(parameter: Parameter, value: Any) -> dict[str, Any]:
    label, low, high, step = parameter.slider
    if not isinstance(value, str):
        # A value beyond the slider's ends was given in code and is meant; the slider reaches to it.
        low, high = min(low, value), max(high, value)
    facts = {"name": parameter.name, "label": label, "help": parameter.help, "auto": AUTO in parameter.domain}
    return facts | {"low": float(low), "high": float(high), "step": float(step)}


def _typed(parameter: Parameter, value: Any) -> Any:
    # By the step: JSON has one kind of number, and 100.0 trees are refused.
    whole = isinstance(parameter.slider.step, int) and isinstance(value, int | float) and not isinstance(value, bool)
    return int(value) if whole and float(value).is_integer() else value
