"""The toy experiment, for every test of the folder."""

from tests.experiments.toy import toy  # noqa: F401 - a fixture
