"""What becomes of model files that were changed by accident or by hand."""

from __future__ import annotations

import warnings

import numpy as np

from hetcore.errors import DataError, ModelFileError, ParameterError
from hetcore.model_files import load
from tests import model_files
from tests.model_files.forging import forged, scrambled


def damaged(content: bytes, rng: np.random.Generator) -> bytes:
    """Return the file with a bit or a few stretches changed, checksums as they were."""
    if rng.random() < 0.5:
        return scrambled(content, rng)
    flipped = bytearray(content)
    flipped[rng.integers(len(content))] ^= 1 << int(rng.integers(8))
    return bytes(flipped)


def changed(name: str, content: bytes, k: int) -> tuple[str, bytes]:
    """Return whether the k-th changed file of a class is "damaged" or "forged", and the file, never as it was."""
    kind, make = ("damaged", damaged) if k % 2 else ("forged", forged)
    for attempt in range(100):
        try:
            file = make(content, np.random.default_rng([model_files.NAMES.index(name), k, attempt]))
        except (ValueError, TypeError, OverflowError):
            continue  # a forgery that cannot be written
        if file != content:
            return kind, file
    raise AssertionError(f"No change of a {name} could be written.")


def verdict(name: str, content: bytes, predicted: np.ndarray) -> str:
    """Return what becomes of a file."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # forged numbers may overflow
        return _verdict(name, content, predicted)


def _verdict(name: str, content: bytes, predicted: np.ndarray) -> str:
    try:
        model = load(content)
    except ModelFileError as error:
        return "refused" if len(str(error)) < 1000 and "\n" not in str(error) else f"a sentence of {len(str(error))}"
    except Exception as error:  # noqa: BLE001 - to be told
        return f"load: {type(error).__name__}: {error}"
    try:
        again = model_files.answers(name, model)
    except (DataError, ParameterError, ModelFileError):
        return "refused"
    except Exception as error:  # noqa: BLE001 - to be told
        return f"predict: {type(error).__name__}: {error}"
    return "same" if again.shape == predicted.shape and (again == predicted).all() else "other"
