"""scikit-learn's 1,797 digit images beside a table that describes them: always there, without a network."""

from __future__ import annotations

import numpy as np
import polars as pl

from datasets import _digit_features as features
from datasets._dataset import Dataset
from datasets._digit_images import digit_images
from hetcore.data import HetData, Source

__all__ = ["DIGITS_TABLE_AND_PIXELS", "load"]


def load() -> HetData:
    """Return the digits as HetData: a table of shape numbers and 8 x 8 x 1 images of 1,797 digits, 10 classes."""
    ids, images, labels = digit_images()
    described = {"morphology": features.morphology(images), "zernike": features.zernike(images)}
    columns = {f"{name} {i:02d}": values[:, i] for name, values in described.items() for i in range(values.shape[1])}
    pixels = images[..., None].astype(np.uint8)
    return HetData(
        {"shape": Source(ids, pl.DataFrame(columns)), "pixels": Source(ids, pixels)},
        target=pl.DataFrame({"id": ids, "y": labels}),
    )


DIGITS_TABLE_AND_PIXELS = Dataset(
    name="digits_table_and_pixels",
    title="Digit images and a table",
    story="1,797 digits: recognise each from a table of shape numbers and from its 8 x 8 pixels.",
    task="classification",
    load=load,
    licence="UCI Machine Learning Repository (CC BY 4.0), inside scikit-learn (BSD 3-Clause).",
    citation="Alpaydin, E., Kaynak, C. (1998). Optical Recognition of Handwritten Digits. UCI Machine Learning "
    "Repository. https://doi.org/10.24432/C50P49",
)
