"""Fixtures of the consensus tests."""

import pytest

from hetcore.consensus import repeated


@pytest.fixture(scope="module", autouse=True)
def one_fit(request):
    """Have one fit, however few labels: what several have in common test_repeated.py tests, and the studio's tests."""
    with pytest.MonkeyPatch.context() as patch:
        if not request.module.__name__.endswith("test_repeated"):
            patch.setattr(repeated, "FEW", 0)
        yield
