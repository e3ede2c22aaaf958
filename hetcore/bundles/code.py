"""A run as code: steps of words and Python, written as a script or as a Jupyter notebook.

Text from users is written as a Python literal or a JSON string, never as code or markup.
"""

from __future__ import annotations

import ast
import json
import keyword
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from hetcore.data.text import quoted
from hetcore.errors import ParameterError

__all__ = ["HERE", "Step", "arguments", "compared", "literal", "notebook", "script"]

HERE = 'HERE = Path(__file__).parent if "__file__" in globals() else Path()'
"""A line of code: the folder of the script, of a notebook the one that it runs in."""


class Step(NamedTuple):
    """A part of a run: words without text from users, and its code."""

    words: str
    code: str


def script(steps: Sequence[Step], head: str) -> str:
    """Return steps as a Python script.

    Parameters
    ----------
    steps : sequence of Step
    head : str
        Its docstring, without text from users.
    """
    text = f'"""{head}"""\n\n' + "\n\n".join(step.code for step in steps) + "\n"
    # Parsed here, so that a script that is no Python fails now and not at whoever receives it.
    ast.parse(text)
    return text


def notebook(steps: Sequence[Step], head: str) -> bytes:
    """Return steps as a Jupyter notebook without outputs.

    Parameters
    ----------
    steps : sequence of Step
    head : str
        Markdown of its first cell.
    """
    cells = [_cell("markdown", head)]
    for words, code in steps:
        cells += [_cell("markdown", words), _cell("code", code)]
    # Ids that a version 4.5 notebook must have; by place, so that equal runs have equal files.
    cells = [cell | {"id": f"cell-{k}"} for k, cell in enumerate(cells)]
    kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": kernel, "cells": cells}, indent=1).encode()


def _cell(kind: str, source: str) -> dict[str, Any]:
    more = {"execution_count": None, "outputs": []} if kind == "code" else {}
    return {"cell_type": kind, "metadata": {}, "source": source.splitlines(keepends=True), **more}


def arguments(given: dict[str, Any]) -> list[str]:
    """Return "name=value" of each argument.

    Raises
    ------
    ParameterError
        If a name is none, or a value is not one that Python reads back equal.
    """
    for name in given:
        # A name goes into the code as it is.
        if not name.isidentifier() or keyword.iskeyword(name):
            raise ParameterError(f"{quoted(name)} is no name of a parameter: leave it out.")
    return [f"{name}={literal(name, value)}" for name, value in given.items()]


def literal(name: str, value: Any) -> str:
    """Return a value as Python that reads back equal; ParameterError where it doesn't."""
    # A NumPy scalar's text names its type, which is no literal.
    value = value.item() if isinstance(value, np.generic) else value
    text = repr(value)
    try:
        # Read back and compared: NaN and infinity have texts that are no literals, and are refused.
        if ast.literal_eval(text) == value:
            return text
    except (ValueError, SyntaxError):
        pass
    raise ParameterError(f"{name}={quoted(value)} cannot be written into a script: use numbers, text, lists or None.")


def compared(rows: str) -> Step:
    """Return the step that compares the predictions with those of the run.

    Parameters
    ----------
    rows : str
        Name of what is predicted.
    """
    code = f"""predicted = np.asarray(model.predict({rows})).tolist()
kept = pl.read_parquet(HERE / "predictions.parquet")["prediction"].to_list()
print("equal to the predictions of the run, bit for bit:", predicted == kept)
if predicted != kept:
    raise SystemExit("The predictions differ: other versions, or another kind of processor, than the run had?")"""
    return Step("The same predictions as those of the run.", code)
