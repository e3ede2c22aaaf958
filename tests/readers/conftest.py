"""Limits of the readers, as a test wants them."""

import pytest

from studio.limits import UPLOADS


@pytest.fixture
def limited(monkeypatch):
    """Return a function that changes the limits that a reader knows."""

    def change(module, **limits):
        monkeypatch.setattr(module, "UPLOADS", UPLOADS._replace(**limits))

    return change
