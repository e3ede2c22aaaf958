"""Fixtures of the consensus tests."""

import pytest

from hetcore.consensus import repeated


@pytest.fixture(scope="module", autouse=True)
def one_fit(request):
    """Have one fit, however few labels.

    What several have in common test_repeated.py tests; what is promised of the default is tested of it as it comes.
    """
    with pytest.MonkeyPatch.context() as patch:
        if not request.module.__name__.endswith(("test_repeated", "test_consensus_felt")):
            patch.setattr(repeated, "FEW", 0)
        yield
