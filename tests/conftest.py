"""What every test run stands on: read before any test, and so before NumPy, numba and hetcore."""

from __future__ import annotations

import gc
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import hypothesis
import pytest

from tests.clusters import client, cluster, shared_client  # noqa: F401 - fixtures

ROOT = Path(__file__).resolve().parent.parent
REAL_DATA = ROOT.parent / "shared" / "data"
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS")
KEPT_SETTINGS = ("HETCORE_DATA", "HETCORE_CACHE")
SEED = "HETCORE_SEED"
TIERS = ("slow", "e2e", "notebook")
LONG = (
    *("test_journey", "test_login", "test_collective_journey", "test_poisoned", "test_papers", "test_transfer_journey"),
    *("test_properties_methods", "test_consensus_page", "test_factor_strips", "test_kills", "test_two_learners_page"),
    *("test_notebooks_run", "test_api_pages", "test_export", "test_export_alone", "test_row_shards"),
    *("test_store_faults", "test_jobs_cluster", "test_distributed", "test_distributed_counts", "test_noise_page"),
    *("test_transfer_page", "test_collective_page", "test_data_properties", "test_house_rules", "test_guides"),
    *("test_consensus_felt", "test_types", "test_properties_consensus", "test_eta", "test_paper_protocols"),
    *("test_transfer_protocol", "test_playground_page", "test_packaging"),
)
"""Files of few tests that take ten seconds and more, the longest of a tier first."""


def _set_environment() -> Path:
    """Set the environment of the tests and of the processes that they start; return the studio's folder, a new one."""
    for name in [name for name in os.environ if name.startswith("HETCORE_") and name not in (*KEPT_SETTINGS, SEED)]:
        del os.environ[name]  # a test that reached the user's database would write runs into it
    home = Path(tempfile.mkdtemp(prefix="hetcore-tests-"))
    os.environ["HETCORE_HOME"] = str(home)
    os.environ["HETCORE_COMPILERS"] = "1"  # kernels are compiled before the tests
    os.environ.setdefault(SEED, f"{datetime.now(UTC):%Y%m%d}")  # of all processes of a run, also over midnight
    # compiled tests are kept, or three tiers' processes write the same assertions anew: two fifths of their collection
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    for name in ONE_THREAD:  # spinning threads of several libraries stop each other on few cores
        os.environ.setdefault(name, "1")
    if REAL_DATA.is_dir():
        os.environ.setdefault("HETCORE_DATA", str(REAL_DATA))
    os.environ.setdefault("HETCORE_CACHE", str(ROOT / ".cache"))
    for name in KEPT_SETTINGS:  # scripts under test run in other folders
        if name in os.environ:
            os.environ[name] = str(Path(os.environ[name]).expanduser().absolute())
    return home


_HOME = _set_environment()


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Return how many processes run the tests: one a core that we may use, up to four; files alone run in this one."""
    folders = [argument for argument in config.args if Path(argument.split("::")[0]).is_dir()]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, 4) if folders and cores > 1 else 0


def pytest_sessionstart(session: pytest.Session) -> None:
    """Compile the kernels once, before several processes would each compile the same ones."""
    if session.config.getoption("numprocesses", None):
        code = "from hetcore.kernels import warm_up; warm_up(part={!r})"
        both = [subprocess.Popen([sys.executable, "-c", code.format(p)], cwd=ROOT) for p in ("trees", "others")]
        assert not any([each.wait() for each in both]), "The kernels cannot be compiled."


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out files of other tiers alone: of each tier's processes, every one would import all tests."""
    if collection_path.suffix != ".py" or not collection_path.name.startswith("test_"):
        return None
    text, asked = collection_path.read_text(encoding="utf-8"), config.option.markexpr
    of_one = re.search(r"^pytestmark = pytest\.mark\.(\w+)$", text, flags=re.MULTILINE)
    other = asked in TIERS and f"mark.{asked}" not in text
    return True if other or (of_one and f"not {of_one[1]}" in asked) else None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Look for no garbage among the modules and tests, which stay: that was a fifth of the time of collecting them."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the longest files first, then those of most tests: one process would end with a long one, the other wait."""
    places, many = {name: place for place, name in enumerate(LONG)}, Counter(item.path for item in items)
    items.sort(key=lambda item: (places.get(item.path.stem, len(LONG)), -many[item.path]))


def pytest_collection_finish() -> None:
    """Read once which installed packages bring components: Streamlit's server does, its AppTest would for each test."""
    if "streamlit.testing.v1" in sys.modules:
        from streamlit.components.v2 import manifest_scanner

        manifest_scanner.scan_component_manifests = cache(manifest_scanner.scan_component_manifests)


# The same examples each time, and no example fails for being slow; `--hypothesis-profile=many` looks for new ones.
hypothesis.settings.register_profile("repeatable", max_examples=20, derandomize=True, deadline=None, database=None)
hypothesis.settings.register_profile("many", max_examples=2_000, deadline=None)
hypothesis.settings.load_profile("repeatable")


@pytest.fixture(autouse=True)
def _main_module() -> Iterator[None]:
    """Put the main module back: an AppTest leaves its script there, which processes started later would run first."""
    main = sys.modules["__main__"]
    yield
    sys.modules["__main__"] = main


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove the studio's folder."""
    shutil.rmtree(_HOME, ignore_errors=True)


def pytest_report_header() -> list[str]:
    """Say where data and compiled kernels lie."""
    lines = [f"{name}: {os.environ.get(name, 'not set: tests on real data are skipped')}" for name in KEPT_SETTINGS]
    return [*lines, f"{SEED}: {os.environ[SEED]}, for the problems of the day"]
