"""The papers' figures and tables as experiments: what is claimed, what is run, what came out.

>>> import experiments
>>> experiments.names()[:2]
['gbc-figure-3', 'gbc-figure-4']
>>> experiments.info("gbc-figure-3").title
'All sources record the same objects'

`experiments.run("gbc-figure-3", scope="page")` takes minutes and returns an outcome with its verdict. An experiment is
one file of `files/`: data, methods, settings, seeds, protocol, claim. `python -m experiments` runs them from a shell;
both keep each finished cell, so that a run that was stopped goes on where it was.
"""

from experiments.experiment import Experiment, info, names
from experiments.runner import Outcome, forget, outcome, pack, run, stamp

__all__ = ["Experiment", "Outcome", "forget", "info", "names", "outcome", "pack", "run", "stamp"]
