"""Planted domains of one task: how far each is shifted, how noisy its labels are, how related it is to the target.

The target's label is the class k of largest w_k . x, w_1 .. w_K standard normal. Source j has rules of its own,

    w_jk = r_j w_k + sqrt(1 - r_j^2) v_jk,   v_jk standard normal,

with the v_jk made orthogonal to the w_k and as long, so that its relatedness r_j in [-1, 1] is exactly the correlation
of its rule with the target's: 1 is the same task, 0 another one, and -1, a hostile source, the opposite. The columns of
a source are shifted by s_j in a random direction of its own (its rule moves along, so that classes stay balanced), and
a share of its labels is drawn at random.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from datasets._dataset import Dataset, Frames, assemble
from datasets.planted._checks import check_counts, check_seed, check_shares, numbers_each
from hetcore.data import HetData
from hetcore.data.columns import several
from hetcore.data.text import shown
from hetcore.errors import ParameterError

__all__ = ["PLANTED_DOMAINS", "DomainTruth", "make_domains"]

RELATEDNESS = (0.95, 0.7, 0.0, -1.0)
NAMES = ("kin", "cousin", "stranger", "hostile")


@dataclass(frozen=True)
class DomainTruth:
    """What was planted.

    Attributes
    ----------
    relatedness : dict of str to float
        By source, the correlation in [-1, 1] of its rule with the target's.
    shift : dict of str to float
        By source, how far its columns are moved, in standard deviations of a column.
    label_noise : dict of str to float
        By source, the share in [0, 1] of labels that were drawn at random.
    rules : (p + 1, n_classes, n_features) float64 array
        The rules of the target, first, and of each source.
    agreement : dict of str to float
        By source, the share of its rows whose label the target's rule, moved along with the source, gives too.
    """

    relatedness: dict[str, float]
    shift: dict[str, float]
    label_noise: dict[str, float]
    rules: np.ndarray
    agreement: dict[str, float]


def make_domains(
    n_target: int = 300,
    n_source: int | Sequence[int] = 300,
    *,
    relatedness: Sequence[float] = RELATEDNESS,
    shift: float | Sequence[float] = 0.5,
    label_noise: float | Sequence[float] = 0.05,
    names: Sequence[str] | None = None,
    n_features: int = 10,
    n_classes: int = 2,
    labelled: float = 1.0,
    seed: int = 0,
) -> tuple[HetData, DomainTruth]:
    """Return a target and sources as the sources of a HetData, and the truth planted in them.

    Parameters
    ----------
    n_target : int, default=300
        Rows of the source "target", at least 2.
    n_source : int or sequence of int, default=300
        Rows of each source, at least 2: one for all, or one a source.
    relatedness : sequence of float, default=(0.95, 0.7, 0.0, -1.0)
        One a source, in [-1, 1]: 1 has the target's rule, -1 the opposite one.
    shift : float or sequence of float, default=0.5
        One for all or one a source, at least 0, in standard deviations of a column.
    label_noise : float or sequence of float, default=0.05
        One for all or one a source, in [0, 1]; the target's labels have none.
    names : sequence of str, optional
        One a source, distinct, none of them "target"; by default "kin", "cousin", "stranger", "hostile" for the default
        relatedness, else "source_1", ....
    n_features : int, default=10
        Columns, at least 1.
    n_classes : int, default=2
        Classes "class_1", ..., at least 2.
    labelled : float, default=1.0
        Share in [0, 1] of the target's rows whose label the data tell; the sources' are all told.
    seed : int, default=0
        Seed of everything.

    Returns
    -------
    data : HetData
        Sources with the same columns x_1, ..., the target last; ids such as "kin/17".
    truth : DomainTruth

    Raises
    ------
    ParameterError
        If an argument is outside its domain.
    """
    p = len(relatedness) if several(relatedness) and hasattr(relatedness, "__len__") else 1
    related = numbers_each("relatedness", relatedness, p, -1, 1)
    names = _names(names, related)
    sizes = [*_sizes(n_source, p), n_target]
    shifts, noises = numbers_each("shift", shift, p, 0, np.inf), numbers_each("label_noise", label_noise, p, 0, 1)
    check_counts(n_target=(n_target, 2), n_features=(n_features, 1), n_classes=(n_classes, 2))
    check_shares(labelled=labelled)
    check_seed(seed)
    rng = np.random.default_rng(seed)
    own = _centred(rng.normal(size=(n_classes, n_features)))
    rules = np.stack([own, *[_related(own, r, rng) for r in related]])
    tables, targets, agreement = {}, [], {}
    for j, name in enumerate([*names, "target"]):
        X = rng.normal(size=(sizes[j], n_features))
        y = (X @ rules[(j + 1) % (p + 1)].T).argmax(axis=1)
        if j < p:
            drawn = rng.random(sizes[j]) < noises[j]
            y[drawn] = rng.integers(n_classes, size=drawn.sum())
            agreement[name] = float(((X @ own.T).argmax(axis=1) == y).mean())
            way = rng.normal(size=n_features)
            X = X + shifts[j] * np.sqrt(n_features) * way / np.linalg.norm(way)
        tables[name], known = _frames(name, X, y)
        targets.append(known if j < p else known.filter(pl.Series(rng.permutation(sizes[j]) < labelled * sizes[j])))
    kinds = {name: dict.fromkeys(table.columns[1:], "real") for name, table in tables.items()}
    truth = DomainTruth(*(dict(zip(names, each)) for each in (related, shifts, noises)), rules, agreement)
    return assemble(Frames(tables, {}, pl.concat(targets), kinds)), truth


def _sizes(n_source: int | Sequence[int], p: int) -> list[int]:
    sizes = [int(n) if n.is_integer() else n for n in numbers_each("n_source", n_source, p, 2, np.inf)]
    for n in sizes:
        check_counts(n_source=(n, 2))
    return sizes


def _centred(rules: np.ndarray) -> np.ndarray:
    return rules - rules.mean(axis=0)


def _related(own: np.ndarray, r: float, rng: np.random.Generator) -> np.ndarray:
    """Return a rule of correlation r with `own`, as long as it."""
    other = _centred(rng.normal(size=own.shape))
    other -= own * (other * own).sum() / (own**2).sum()
    length = np.linalg.norm(other)  # 0 with one column and two classes: no rule is orthogonal there
    return r * own + np.sqrt(1.0 - r**2) * other * (np.linalg.norm(own) / length if length > 1e-9 else 0.0)


def _frames(name: str, X: np.ndarray, y: np.ndarray) -> tuple[pl.DataFrame, pl.DataFrame]:
    ids = pl.Series("id", [f"{name}/{i}" for i in range(len(X))])
    table = pl.DataFrame(X, schema=[f"x_{f}" for f in range(1, X.shape[1] + 1)]).insert_column(0, ids)
    return table, pl.DataFrame({"id": ids, "y": [f"class_{k + 1}" for k in y]})


def _names(names: Sequence[str] | None, relatedness: Sequence[float]) -> list[str]:
    p = len(relatedness)
    if names is None:
        names = NAMES if tuple(relatedness) == RELATEDNESS else [f"source_{j + 1}" for j in range(p)]
    names = list(names) if several(names) else names
    if not isinstance(names, list) or len(names) != p or len({str(n) for n in names} - {"target"}) < p:
        raise ParameterError(f"names={shown(names)} must be {p} distinct names, none of them 'target': give a list.")
    return names


def load() -> HetData:
    """Return 1,500 made-up instances: a target and four sources, one of them hostile."""
    return make_domains()[0]


PLANTED_DOMAINS = Dataset(
    name="planted_domains",
    title="Planted domains",
    story="1,500 made-up instances: a target and four sources of falling worth, the last of which says the opposite.",
    task="classification",
    load=load,
    licence="Generated here, free for any use.",
    citation="datasets.make_domains() with its defaults.",
)
