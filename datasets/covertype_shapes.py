"""Forest cover types with drawn images: a table of the terrain and, for each place, a picture of shapes.

Three cover types of the balanced Kaggle table, 2,160 places each. The picture shows triangles and rectangles for the
first, triangles for the second and rectangles for the third type; in 9% of the places it shows those of another type,
drawn at random: there the table has to know better. The labels themselves stay true.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from datasets._dataset import Dataset
from datasets._fetch import RemoteFile, fetch
from hetcore.data import HetData, Source

__all__ = ["COVERTYPE_SHAPES", "load", "pictures", "places"]

PLACES = RemoteFile(
    "tbrk1608/ForestCoverType_Prediction",
    "6899fa18d3f56a46cbccc47999b67fbbc47a9b69",
    "train.csv",
    "45d9949029e81059332efa1dcb22af082f7ad344859984b5dc761d1f328d88f5",
)
TYPES = {1: "spruce/fir", 2: "lodgepole pine", 3: "ponderosa pine"}
SIDE = 24
FLIPPED = 0.09
SEED = 7


def pictures(shown: np.ndarray, seed: int = SEED) -> np.ndarray:
    """Draw a picture for each instance.

    Parameters
    ----------
    shown : (n,) int
        0 for triangles and rectangles, 1 for triangles, 2 for rectangles.
    seed : int, default=7
        Seed of places, sizes, brightness and noise.

    Returns
    -------
    (n, 24, 24, 1) uint8
        Two to four filled shapes on a dark, noisy ground.
    """
    rng = np.random.default_rng(seed)
    n = len(shown)
    canvas = rng.integers(0, 60, (n, SIDE, SIDE)).astype(np.uint8)
    count = rng.integers(2, 5, n)
    for place in range(4):
        kind = np.where(shown == 0, (place + rng.integers(2, size=n) * (place > 1)) % 2, shown - 1)
        inside = _shape(kind, rng)
        bright = rng.integers(120, 256, n).astype(np.uint8)[:, None, None]
        canvas = np.where(inside & (place < count)[:, None, None], bright, canvas)
    return canvas[..., None]


def _shape(kind: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the pixels (n, side, side) bool of a shape each: 0 a triangle with its tip up, 1 a rectangle."""
    n = len(kind)
    height, width = rng.integers(6, 12, n), rng.integers(6, 12, n)
    top, left = rng.integers(0, SIDE - height + 1), rng.integers(0, SIDE - width + 1)
    row = np.arange(SIDE)[None, :, None] - top[:, None, None]
    column = np.arange(SIDE)[None, None, :] - left[:, None, None]
    high, wide = height[:, None, None], width[:, None, None]
    box = (row >= 0) & (row < high) & (column >= 0) & (column < wide)
    slope = 2 * np.abs(column - (wide - 1) / 2) * high <= wide * (row + 1)
    return box & (slope | (kind == 1)[:, None, None])


def places() -> tuple[pl.DataFrame, np.ndarray, np.ndarray]:
    """Return the terrain's 54 columns, the ids (n,) and the cover types less 1 (n,) of the 6,480 places."""
    table = pl.read_csv(fetch(PLACES)).filter(pl.col("Cover_Type").is_in(list(TYPES)))
    ids, kind = table["Id"].cast(pl.String).to_numpy().astype(str), table["Cover_Type"].to_numpy() - 1
    return table.drop("Id", "Cover_Type"), ids, kind


def load(seed: int = SEED) -> HetData:
    """Return the places as HetData: a table of 54 columns and 24 x 24 pictures of 6,480 places, 3 classes.

    Parameters
    ----------
    seed : int, default=7
        Seed of the pictures and of which of them show another type.
    """
    terrain, ids, kind = places()
    rng = np.random.default_rng(seed)
    shown = np.where(rng.random(len(kind)) < FLIPPED, (kind + rng.integers(1, 3, len(kind))) % 3, kind)
    labels = [TYPES[k + 1] for k in kind]
    flags = {name: "binary" for name in terrain.columns if name.startswith(("Wilderness", "Soil"))}
    flags = {name: kind for name, kind in flags.items() if terrain[name].n_unique() == 2}
    return HetData(
        {"terrain": Source(ids, terrain, flags), "pictures": Source(ids, pictures(shown, seed))},
        target=pl.DataFrame({"id": ids, "y": labels}),
    )


COVERTYPE_SHAPES = Dataset(
    name="covertype_shapes",
    title="Forest cover with drawn shapes",
    story="6,480 forest places, three cover types: a table of the terrain, and a drawn picture that is wrong for 9%.",
    task="classification",
    load=load,
    licence="UCI Machine Learning Repository (CC BY 4.0); the repository of this copy states no terms.",
    citation="Blackard, J. (1998). Covertype. UCI Machine Learning Repository. https://doi.org/10.24432/C50K5N",
    files=(PLACES,),
)
