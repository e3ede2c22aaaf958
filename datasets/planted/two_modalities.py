"""Made-up data in which only a table and an image together decide, with known truth."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl

from datasets._dataset import Dataset
from datasets.planted._checks import check_counts, check_seed, check_shares, check_words
from hetcore.data import HetData, Source
from hetcore.errors import ParameterError

__all__ = ["TWO_MODALITIES", "Halves", "make_two_modalities"]

SIDE = 10


class Halves(NamedTuple):
    """What was planted.

    Attributes
    ----------
    table, image : (n,) int
        0 or 1: what the table knows, what the image shows.
    y : (n,) str
        The labels.
    """

    table: np.ndarray
    image: np.ndarray
    y: np.ndarray


def make_two_modalities(
    n: int = 1500, n_features: int = 8, rule: str = "pair", noise: float = 0.05, missing: float = 0.0, seed: int = 0
) -> tuple[HetData, Halves]:
    """Return a table and images that each know one half of the label.

    The table's half is whether its first two columns have the same sign; the image's half is whether its bright bar
    stands or lies. Either alone cannot do better than one in two.

    Parameters
    ----------
    n : int, default=1500
        Instances, at least 8.
    n_features : int, default=8
        Columns of the table, at least 2; those after the second are noise.
    rule : {"pair", "xor"}, default="pair"
        "pair": four classes, one for each pair of halves, which a sum of a table's and an image's model can tell.
        "xor": two classes, whether the halves differ, which no such sum can.
    noise : float, default=0.05
        Share in [0, 1] of the labels that are drawn at random.
    missing : float, default=0.0
        Share in [0, 1) of the instances without an image.
    seed : int, default=0
        Seed of everything.

    Returns
    -------
    data : HetData
        Sources "table" and "image" (n, 10, 10, 1).
    truth : Halves

    Raises
    ------
    ParameterError
        If a parameter is outside its domain.
    """
    check_counts(n=(n, 8), n_features=(n_features, 2))
    check_words(rule=(rule, ("pair", "xor")))
    check_shares(noise=noise, missing=missing)
    if missing == 1:
        raise ParameterError(f"{missing=} must be below 1: some instances have an image.")
    check_seed(seed)
    rng = np.random.default_rng(seed)
    columns = rng.standard_normal((n, n_features))
    table = (columns[:, 0] * columns[:, 1] > 0).astype(int)
    image = rng.integers(2, size=n)
    code = 2 * table + image if rule == "pair" else table ^ image
    drawn = np.where(rng.random(n) < noise, rng.integers(4 if rule == "pair" else 2, size=n), code)
    y = np.array([f"class_{k + 1}" for k in range(4)])[drawn]
    ids = np.array([f"instance-{row:0{len(str(n))}d}" for row in range(1, n + 1)])
    shown = np.sort(rng.permutation(n)[: n - round(missing * n)])
    names = [f"column_{i + 1}" for i in range(n_features)]
    sources = {
        "table": Source(ids, pl.DataFrame(columns, schema=names)),
        "image": Source(ids[shown], _bars(image, rng)[shown]),
    }
    return HetData(sources, target=pl.DataFrame({"id": ids, "y": y})), Halves(table, image, y)


def _bars(standing: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return noisy images (n, side, side, 1) uint8 of a bar of 7 pixels that stands (1) or lies (0), anywhere."""
    n = len(standing)
    along, across = rng.integers(0, SIDE - 6, n)[:, None], rng.integers(0, SIDE, n)[:, None]
    place = np.arange(SIDE)
    long, thin = (place >= along) & (place < along + 7), place == across
    lying = thin[:, :, None] & long[:, None, :]
    bar = np.where(standing[:, None, None] == 1, lying.transpose(0, 2, 1), lying)
    return (rng.integers(0, 60, bar.shape) + 190 * bar).astype(np.uint8)[..., None]


def load() -> HetData:
    """Return the data of `make_two_modalities()` as they are by default: four classes."""
    return make_two_modalities()[0]


TWO_MODALITIES = Dataset(
    name="two_modalities",
    title="Only both together",
    story="1,500 made-up instances, four classes: a table knows one half of the label, an image the other.",
    task="classification",
    load=load,
    licence="Generated here, free for any use.",
    citation="datasets.make_two_modalities() with its defaults.",
)
