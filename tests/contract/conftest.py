"""A small fitted model of a class that is listed for the test alone."""

from __future__ import annotations

import pytest

from hetcore import model_files
from tests.model_files import scaler


@pytest.fixture
def model(monkeypatch):
    """Return a model that can be saved, and loaded as long as the test runs."""
    monkeypatch.setitem(model_files.CLASSES, "Scaler", scaler.__name__)
    return scaler.fitted()
