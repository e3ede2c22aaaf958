"""Seven descriptions of small grey images, after the seven of the UCI Multiple Features digits.

Every function takes images (n, side, side), ink as positive numbers, and returns (n, d) float64. All but
`karhunen_loeve` look at one image at a time.
"""

from __future__ import annotations

from math import factorial

import numpy as np

__all__ = ["fourier", "karhunen_loeve", "morphology", "pixels", "profile_correlations", "zernike"]

INK = 6.0  # of 16: below it the strokes of an eight run together, above it the ring of a zero breaks
LAGS = range(-2, 3)


def fourier(images: np.ndarray) -> np.ndarray:
    """Return the magnitudes of the two-dimensional Fourier coefficients, each conjugate pair once.

    They do not change when the digit is shifted round the edge. 8 x 8 images give 34.
    """
    side = images.shape[1]
    magnitudes = np.abs(np.fft.rfft2(images))
    once = np.ones(magnitudes.shape[1:], dtype=bool)
    once[side // 2 + 1 :, [0, -1]] = False  # in the first and the last column, row u repeats row side - u
    return magnitudes[:, once]


def profile_correlations(images: np.ndarray) -> np.ndarray:
    """Return the correlations of six profiles of the shape, two at a time, at five lags.

    The profiles: how far the first ink is from the left, right, top and bottom, and how much ink each row and each
    column holds. With the profiles a and b centred, the correlation at lag l is sum_i a_i b_(i+l) / side. 15 pairs at 5
    lags give 75.
    """
    profiles = _profiles(images)
    centred = profiles - profiles.mean(axis=2, keepdims=True)
    first, second = np.triu_indices(profiles.shape[1], k=1)
    columns = [(centred[:, first] * _shifted(centred[:, second], lag)).mean(axis=2) for lag in LAGS]
    return np.concatenate(columns, axis=1)


def _profiles(images: np.ndarray) -> np.ndarray:
    """Return (n, 6, side): distance to the first ink from four sides, then ink by row and by column."""
    ink = images >= INK
    turned = [ink, ink[:, :, ::-1], ink.transpose(0, 2, 1), ink[:, ::-1].transpose(0, 2, 1)]
    contours = [np.where(view.any(axis=2), view.argmax(axis=2), images.shape[1]) for view in turned]
    return np.stack([*contours, images.mean(axis=2), images.mean(axis=1)], axis=1).astype(np.float64)


def _shifted(profiles: np.ndarray, lag: int) -> np.ndarray:
    """Return the profiles moved by `lag` to the left, zeros moving in."""
    moved = np.roll(profiles, -lag, axis=2)
    if lag > 0:
        moved[:, :, -lag:] = 0.0
    if lag < 0:
        moved[:, :, :-lag] = 0.0
    return moved


def karhunen_loeve(images: np.ndarray, n_coefficients: int = 32) -> np.ndarray:
    """Return the coefficients on the leading eigenvectors of the covariance of the pixels, over all the images.

    An eigenvector's sign is chosen so that its largest entry is positive.
    """
    flat = images.reshape(len(images), -1)
    centred = flat - flat.mean(axis=0)
    _, vectors = np.linalg.eigh(centred.T @ centred / len(flat))
    leading = vectors[:, ::-1][:, :n_coefficients]
    largest = leading[np.abs(leading).argmax(axis=0), np.arange(n_coefficients)]
    return centred @ (leading * np.sign(largest))


def pixels(images: np.ndarray) -> np.ndarray:
    """Return the pixels, row by row (each is itself the ink of a 4 x 4 window of the scanned 32 x 32 bitmap)."""
    return images.reshape(len(images), -1).astype(np.float64)


def zernike(images: np.ndarray, order: int = 8) -> np.ndarray:
    """Return the magnitudes of the Zernike moments A_nm = (n+1)/pi * sum of image * conj(V_nm) over the unit disc.

    Magnitudes do not change when the digit is turned, so that a 6 and a 9 look alike. Order 8 gives 25 moments; beyond
    it the radial polynomials oscillate faster than the four pixels of an 8 x 8 image's radius can show.
    """
    side = images.shape[1]
    centres = (2 * np.arange(side) + 1 - side) / side
    radius, angle = np.hypot(*np.meshgrid(centres, centres)), np.arctan2(*np.meshgrid(centres, centres)[::-1])
    terms = [(n, m) for n in range(order + 1) for m in range(n % 2, n + 1, 2)]
    basis = [(n + 1) / np.pi * _radial(n, m, radius) * np.exp(-1j * m * angle) for n, m in terms]
    disc = np.stack(basis, axis=-1) * (radius <= 1.0)[:, :, None] * (2 / side) ** 2
    return np.abs(pixels(images) @ disc.reshape(side * side, -1))


def _radial(n: int, m: int, radius: np.ndarray) -> np.ndarray:
    """Return R_nm(r) = sum_k (-1)^k (n-k)! / (k! ((n+m)/2-k)! ((n-m)/2-k)!) r^(n-2k)."""
    total = np.zeros_like(radius)
    for k in range((n - m) // 2 + 1):
        below = factorial(k) * factorial((n + m) // 2 - k) * factorial((n - m) // 2 - k)
        total += (-1) ** k * factorial(n - k) / below * radius ** (n - 2 * k)
    return total


def morphology(images: np.ndarray) -> np.ndarray:
    """Return seven numbers on the shape: holes, area, centre of gravity (down), height, width, slant, eccentricity.

    Area is the ink of the whole image. Height and width are standard deviations of the ink's position, slant is their
    covariance over the vertical variance, and eccentricity sqrt(1 - b/a) is that of the ellipse with the ink's second
    moments, b <= a the eigenvalues.
    """
    area = images.sum(axis=(1, 2))
    grid = np.arange(images.shape[1], dtype=np.float64)
    down = images.sum(axis=2) @ grid / area
    right = images.sum(axis=1) @ grid / area
    vertical = images.sum(axis=2) @ grid**2 / area - down**2
    horizontal = images.sum(axis=1) @ grid**2 / area - right**2
    mixed = np.einsum("nij,i,j->n", images, grid, grid) / area - down * right
    gap = np.hypot(vertical - horizontal, 2 * mixed)
    eccentricity = np.sqrt(2 * gap / (vertical + horizontal + gap))
    sizes = np.sqrt(vertical), np.sqrt(horizontal), mixed / vertical
    return np.column_stack([_holes(images), area, down, *sizes, eccentricity])


def _holes(images: np.ndarray) -> np.ndarray:
    """Return how many pieces of paper are shut in by ink: connected background (edges touch), less the outside."""
    from scipy import ndimage  # a fifth of a second of imports that whoever uses other data saves

    paper = np.pad(images < INK, ((0, 0), (1, 1), (1, 1)), constant_values=True)
    within_image = np.zeros((3, 3, 3), dtype=bool)
    within_image[1] = ndimage.generate_binary_structure(2, 1)
    pieces, n_pieces = ndimage.label(paper, structure=within_image)
    image, *_ = np.nonzero(pieces)
    first = np.unique(pieces[pieces > 0], return_index=True)[1]
    return np.bincount(image[first], minlength=len(images))[: len(images)] - 1.0
