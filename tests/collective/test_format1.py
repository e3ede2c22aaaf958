"""Collective models that hetcore 0.1 saved, in ways that the golden files of each class have not.

`format_1/` holds what that version saved of four fits to the data of `tests.model_files`, and what they answered.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hetcore.errors import ModelFileError
from hetcore.model_files import dumps, load
from tests import model_files
from tests.model_files.forging import rebuilt

FOLDER = Path(__file__).parent / "format_1"
ANSWERS = json.loads((FOLDER / "answers.json").read_text(encoding="utf-8"))
SHOWN = np.arange(model_files.N) % 4 > 0


def _answers(name, model):
    """Return predictions, predictions with every fourth label hidden, and the trace of the sweeps."""
    if name == "classes":
        data, y = model_files.het("classification"), np.where(SHOWN, model_files.CLASS.astype(object), None)
        return model.predict_proba(data), model.predict_proba(data, y=y), model.sweep_trace(data)
    data, y = model_files.het("regression"), np.where(SHOWN, model_files.VALUES, np.nan)
    return model.predict(data), model.predict(data, y=y), model.sweep_trace(data)


@pytest.mark.parametrize("name", sorted(ANSWERS))
def test_models_of_0_1_predict_what_they_did(name):
    model = load(FOLDER / f"{name}.hetcore")
    for each in (model, load(dumps(model))):
        for answer, expected in zip(_answers(name, each), ANSWERS[name].values()):
            assert_allclose(answer, expected, rtol=1e-9, atol=1e-12)


def test_the_first_messages_of_a_printed_model_are_its_own():
    model = load(FOLDER / "printed.hetcore")
    assert model.model_.how.start == "targets"
    object.__setattr__(model.model_.how, "start", "stages")
    start = np.array(ANSWERS["printed"]["trace"][0])
    assert np.abs(_answers("printed", model)[2][0] - start).max() > 1e-3


def test_parameters_of_0_1_have_the_names_of_today():
    model = load(FOLDER / "stages.hetcore")
    assert (model.inferred_weight, model.hops, model.min_samples_leaf) == (0.3, 0, 2)
    assert load(model_files.FOLDER / "format_1" / "MGBRegressor.hetcore").min_samples_leaf == 10
    fitted = model.fit(model_files.het("regression"))
    assert fitted.model_.columns.feature_hops == 0 and fitted.model_.how.start == "stages"


@pytest.mark.parametrize(
    "part, value",
    [
        ("manner", []),
        ("manner", {}),
        ("n_own", -1),
        ("n_own", True),
        ("n_own", 3),
        ("rules", {}),
        ("graphs", ["a", "a"]),
    ],
)
def test_what_0_1_never_wrote_is_refused(part, value):
    def edit(members):
        state = json.loads(members["state.json"])
        state["values"][part] = value
        members["state.json"] = json.dumps(state).encode()

    with pytest.raises(ModelFileError):
        load(rebuilt((FOLDER / "stages.hetcore").read_bytes(), edit))


def test_classes_as_printed_are_refused():
    def edit(members):
        state = json.loads(members["state.json"])
        state["values"]["manner"]["as_printed"] = True
        members["state.json"] = json.dumps(state).encode()

    with pytest.raises(ModelFileError, match="classes as printed"):
        load(rebuilt((FOLDER / "classes.hetcore").read_bytes(), edit))
