"""A toy experiment of two methods, on files of its own, whose cells are known."""

from __future__ import annotations

import numpy as np
import pytest

from experiments import experiment
from experiments.protocols import PROTOCOLS, Protocol

__all__ = ["CALLS", "TOY", "run_cell", "toy"]

TOY = """
paper = "gbc"
part = "Figure 99"
title = "A toy"
claim = ["Good is better than bad."]
protocol = "toy"
[cells]
data = ["d", "e"]
method = ["good", "bad"]
level = [0.1, 0.9]
seed = 4
[page]
data = ["d"]
seed = 2
[figure]
x = "level"
[verdict]
rules = [
  { ours = "good", theirs = "bad", says = "below" },
  { ours = "bad", theirs = "good", says = "alike", beside = true },
]
"""


def run_cell(data, method, level, seed):
    """The toy protocol; a call leaves its trace."""
    CALLS.append((data, method, level, seed))
    noise = np.random.default_rng([seed, len(method)]).normal() * 0.01
    return {"error": (1.0 if method == "good" else 2.0) * level + noise}


CALLS: list = []


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """Make the toy the only experiment; return the folder of its cells."""
    (tmp_path / "gbc-figure-99.toml").write_text(TOY)
    monkeypatch.setattr(experiment, "FILES", tmp_path)
    monkeypatch.setitem(PROTOCOLS, "toy", Protocol(__name__, "toy"))
    experiment._all.cache_clear()
    CALLS.clear()
    yield tmp_path / "cells"
    experiment._all.cache_clear()
