"""PGBM (Sprangers, Schelter, de Rijke 2021) as a peer, in a Python of its own.

Its last version, 2.3, needs NumPy 1 and scikit-learn 1.3, which the project is past. So it is fitted by another
interpreter, which the environment variable HETCORE_PGBM names:

    python3 -m venv pgbm && pgbm/bin/pip install pgbm==2.3.0 "numpy<2" "scikit-learn==1.3.2" "scipy<1.13"
    HETCORE_PGBM=pgbm/bin/python python -m experiments hgbm-uncertainty --results docs/results

This file is also the program that the other interpreter runs; there it has neither hetcore nor the rest of experiments.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

__all__ = ["INTERPRETER", "predicted"]

INTERPRETER = "HETCORE_PGBM"
GIVEN, FOUND = "given.npz", "found.npz"
PATIENCE = 50


def predicted(X: NDArray, y: NDArray, later: NDArray) -> tuple[NDArray, NDArray, float]:
    """Return means (m,) and standard deviations (m,) of later rows, and seconds of the CPU.

    Defaults, early stopping by a tenth of the training rows.

    Raises
    ------
    ImportError
        If the environment does not say which Python has PGBM.
    """
    if INTERPRETER not in os.environ:
        raise ImportError(f"PGBM needs a Python of its own: see experiments/noise/pgbm_peer.py, and set {INTERPRETER}.")
    with tempfile.TemporaryDirectory() as folder:
        np.savez(Path(folder) / GIVEN, X=X, y=y, later=later)
        command = [os.environ[INTERPRETER], __file__, folder]  # what whoever runs the experiment names
        subprocess.run(command, check=True, cwd=folder)  # noqa: S603
        with np.load(Path(folder) / FOUND, allow_pickle=False) as found:
            return found["mean"], found["deviation"], float(found["seconds"])


def _fit(folder: Path) -> None:
    from pgbm.sklearn import HistGradientBoostingRegressor

    with np.load(folder / GIVEN, allow_pickle=False) as given:
        X, y, later = given["X"], given["y"], given["later"]
    model = HistGradientBoostingRegressor(
        early_stopping=True, validation_fraction=0.1, n_iter_no_change=PATIENCE, random_state=0
    )
    started = time.process_time()
    mean, deviation = model.fit(X, y).predict(later, return_std=True)
    np.savez(folder / FOUND, mean=mean, deviation=deviation, seconds=time.process_time() - started)


if __name__ == "__main__":
    _fit(Path(sys.argv[1]))
