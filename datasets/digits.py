"""scikit-learn's 1,797 digit images, turned into the seven sources of the GBC paper's number recognition task.

Always there, without a network: five tables (Fourier, profile correlations, Karhunen-Loeve, pixels, Zernike) and two
graphs (alike in morphology, and the same after Gaussian noise), computed from the 8 x 8 images in a fraction of a
second.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from datasets import _digit_features as features
from datasets._dataset import Dataset, Frames, assemble
from datasets._digit_images import digit_images
from datasets._links import nearest_edges, standardized
from hetcore.data import HetData

__all__ = ["DIGITS_VIEWS", "frames", "load"]

TABLES = {
    "fou": features.fourier,
    "fac": features.profile_correlations,
    "kar": features.karhunen_loeve,
    "pix": features.pixels,
    "zer": features.zernike,
}
N_NEIGHBORS = 10
NOISE_SD = 1.0
NOISE_SEED = 7


def frames() -> Frames:
    """Return the five tables, the two graphs and the digits as polars frames.

    The graph `mor` links each digit to its 10 nearest on the standardised morphological numbers; `mor_noisy` does so
    after Gaussian noise of standard deviation 1 was added to them, with a fixed seed.
    """
    ids, images, labels = digit_images()
    shape = standardized(features.morphology(images))
    noise = np.random.default_rng(NOISE_SEED).normal(0.0, NOISE_SD, shape.shape)
    tables = {name: _table(name, ids, describe(images)) for name, describe in TABLES.items()}
    return Frames(
        sources=tables,
        graphs={
            "mor": nearest_edges(ids, shape, N_NEIGHBORS),
            "mor_noisy": nearest_edges(ids, shape + noise, N_NEIGHBORS),
        },
        target=pl.DataFrame({"id": ids, "y": labels}),
        kinds={name: dict.fromkeys(table.columns[1:], "real") for name, table in tables.items()},
    )


def _table(name: str, ids: np.ndarray, columns: np.ndarray) -> pl.DataFrame:
    names = [f"{name}_{position:02d}" for position in range(columns.shape[1])]
    return pl.DataFrame(columns, schema=names).insert_column(0, pl.Series("id", ids))


def load() -> HetData:
    """Return the digits as HetData: 1,797 instances, 5 tables, 2 graphs, 10 classes."""
    return assemble(frames())


DIGITS_VIEWS = Dataset(
    name="digits_views",
    title="Digit images, seven views",
    story="1,797 digit images: recognise each from five tables of image features and two graphs of alike shapes.",
    task="classification",
    load=load,
    licence="UCI Machine Learning Repository (CC BY 4.0), inside scikit-learn (BSD 3-Clause).",
    citation="Alpaydin, E., Kaynak, C. (1998). Optical Recognition of Handwritten Digits. UCI Machine Learning "
    "Repository. https://doi.org/10.24432/C50P49",
)
