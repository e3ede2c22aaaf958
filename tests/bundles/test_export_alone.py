"""Exports that stand alone: in an empty folder, with the wheel of the zip, the same numbers to the last bit."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import numpy as np
import pytest

import datasets
import hetcore as hc
from hetcore.bundles import bundle
from hetcore.data.splits import label_split
from studio.runs import export
from tests.runs.test_export_pages import CASES, expected, loaded, trained

pytestmark = pytest.mark.slow
EQUAL = "equal to the predictions of the run, bit for bit: True"
PAGES = {page: place for place, (page, *_) in reversed(list(enumerate(CASES)))}
"""The first case of each page of the studio."""
BY_COMMANDS = ("Consensus",)
"""Whose zip is run as its README says; the second's needs PyTorch."""
OURS = r"^(from|import) (studio|datasets)"
"""What a script that stands alone does not import."""


def environment(folder: Path) -> str:
    """Return the Python of a new environment that finds what is installed here, this checkout left out."""
    venv.create(folder, with_pip=False, symlinks=os.name == "posix")
    names = {"base": str(folder), "platbase": str(folder)}
    scripts, packages = (Path(sysconfig.get_path(kind, "venv", names)) for kind in ("scripts", "purelib"))
    (packages / "dependencies.pth").write_text(f"{sysconfig.get_path('purelib')}\n", encoding="utf-8")
    return str(scripts / "python")


def called(command: list[str], folder: Path, **more: str) -> list[str]:
    """Run a command in a folder, away from this checkout, and return the lines that it prints."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(command, cwd=folder, env=plain | more, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


def printed(archive: Path, folder: Path) -> list[str]:
    """Return the lines of the zip's script, run away from this checkout with nothing of it but the wheel of the zip."""
    with zipfile.ZipFile(archive) as files:
        files.extractall(folder)
    (packed,) = folder.glob("*.whl")
    with zipfile.ZipFile(packed) as files:
        files.extractall(folder / "installed")
    installed = str(folder / "installed")
    return called([sys.executable, "-W", "error", "run.py"], folder, PYTHONPATH=installed, PYTHONSAFEPATH="1")


def test_a_consensus_with_labels_of_its_own(tmp_path):
    data = datasets.load("digits_views")
    y = label_split(data, fraction=0.1, seed=0)
    eval_y = np.where(np.equal(y, None), data.y, None)
    model = hc.GBCClassifier(n_iterations=3, random_state=0).fit(data, y, eval_y=eval_y)
    path = hc.export(model, data, tmp_path / "run.zip", y, eval_y=eval_y)
    lines = printed(path, tmp_path / "empty")
    assert lines == [f"error_rate on held-out labels: {model.history_['metric:held_out'][-1]}", EQUAL]
    page = (tmp_path / "empty" / "report.html").read_text("utf-8")
    assert len(page.encode()) < 2**20 and "Weights of the sources" in page and "held-out" in page


def test_rows_and_their_domains(tmp_path):
    rng = np.random.default_rng(0)
    X, domain = rng.normal(size=(120, 3)), np.repeat([-1, 1], 60)
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=120) > 0, "yes", "no")
    model = hc.TrAdaBoostClassifier(n_iterations=3, random_state=0)
    path = hc.export(model, X, tmp_path / "run.zip", y, sample_domain=domain)
    lines = printed(path, tmp_path / "empty")
    assert re.fullmatch(r"error_rate on training labels: 0\.\d+", lines[0]) and lines[1:] == [EQUAL]


def test_codes_of_ratings(tmp_path):
    rng = np.random.default_rng(0)
    X = np.array([[f"u{k % 9}", f"i{k % 7}"] for k in range(200)], dtype=object)
    model = hc.HMF(n_iterations=3, n_factors=2, random_state=0)
    lines = printed(hc.export(model, X, tmp_path / "run.zip", rng.normal(size=200)), tmp_path / "empty")
    assert lines[0].startswith("rmse on training labels: ") and lines[1:] == [EQUAL]


def test_predictions_that_differ_end_in_a_sentence(tmp_path, monkeypatch):
    X = np.random.default_rng(0).normal(size=(60, 2))
    estimator = hc.HGBMRegressor(n_iterations=2, random_state=0)
    monkeypatch.setattr(bundle, "_set", lambda model: {"n_iterations": 1, "random_state": 0})
    path = hc.export(estimator, X, tmp_path / "run.zip", X[:, 0])
    with pytest.raises(AssertionError, match="The predictions differ"):
        printed(path, tmp_path / "empty")


@pytest.mark.parametrize("page", [page for page in PAGES if page not in BY_COMMANDS])
def test_a_run_of_the_studio(page, tmp_path):
    run, result = trained(PAGES[page])
    data = loaded(CASES[PAGES[page]].example)
    (tmp_path / "run.zip").write_bytes(export.bundle(run, data, result.predictions, result.model, result.history))
    lines = printed(tmp_path / "run.zip", tmp_path / "empty")
    assert lines[-1] == EQUAL and lines[-2].split()[-1] == expected(result)
    assert not re.search(OURS, (tmp_path / "empty" / "run.py").read_text(), re.MULTILINE)


@pytest.mark.parametrize("page", BY_COMMANDS)
def test_the_two_commands_of_the_readme_in_a_new_environment(page, tmp_path):
    run, result = trained(PAGES[page])
    content = export.bundle(run, loaded(CASES[PAGES[page]].example), result.predictions, result.model, result.history)
    (tmp_path / "run.zip").write_bytes(content)
    with zipfile.ZipFile(tmp_path / "run.zip") as files:
        files.extractall(tmp_path / "empty")
    readme = (tmp_path / "empty" / "README.txt").read_text().splitlines()
    commands = [line.split() for line in readme if line.startswith("    ")]
    python = environment(tmp_path / "environment")
    # what is pinned is there already, but for the wheel of the zip: no index is asked
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python]
    assert [command[0] for command in commands] == ["pip", "python"]
    called([*pip, *commands[0][1:], "--no-index"], tmp_path / "empty")
    lines = called([python, *commands[1][1:]], tmp_path / "empty")
    assert lines[-1] == EQUAL and lines[-2].split()[-1] == expected(result)
    assert not re.search(OURS, (tmp_path / "empty" / "run.py").read_text(), re.MULTILINE)
    (found,) = called([python, "-c", "from importlib import util; print(util.find_spec('hetcore').origin)"], tmp_path)
    assert Path(found).is_relative_to(tmp_path / "environment")
