"""digits_views: its sizes, and each description of an image against what is known of it."""

import numpy as np
import pytest
from scipy import ndimage
from sklearn.datasets import load_digits

import datasets
from datasets import _digit_features as features


@pytest.fixture(scope="module")
def images():
    return load_digits().images


def test_digits_have_five_tables_and_two_graphs():
    data = datasets.load("digits_views")
    assert (data.n, data.classes) == (1797, list("0123456789"))
    assert {name: source.n_columns for name, source in data.sources.items()} == {
        "fou": 34,
        "fac": 75,
        "kar": 32,
        "pix": 64,
        "zer": 25,
    }
    assert share_within(data, "mor") > 0.65 > 0.45 > share_within(data, "mor_noisy") > 0.2
    assert data.y.tolist() == load_digits().target.astype(str).tolist()


def share_within(data, graph):
    a, b, _ = data.graphs[graph].edges()
    return (data.y[a] == data.y[b]).mean()


def test_fourier_magnitudes_do_not_change_when_the_image_is_shifted_round(images):
    shifted = np.roll(images[:20], (2, 3), axis=(1, 2))
    np.testing.assert_allclose(features.fourier(shifted), features.fourier(images[:20]), atol=1e-9)
    full = np.abs(np.fft.fft2(images[0]))
    assert len(np.unique(full.round(9))) == len(np.unique(features.fourier(images[:1]).round(9)))


def test_zernike_magnitudes_do_not_change_when_the_image_is_turned(images):
    turned = np.rot90(images[:20], axes=(1, 2))
    np.testing.assert_allclose(features.zernike(turned), features.zernike(images[:20]), atol=1e-9)
    assert not np.allclose(features.pixels(turned), features.pixels(images[:20]))


def test_the_radial_polynomials_are_those_of_the_tables():
    r = np.linspace(0, 1, 5)
    np.testing.assert_allclose(features._radial(4, 0, r), 6 * r**4 - 6 * r**2 + 1)
    np.testing.assert_allclose(features._radial(5, 3, r), 5 * r**5 - 4 * r**3)


def test_karhunen_loeve_coefficients_are_uncorrelated_and_keep_the_variance(images):
    coefficients = features.karhunen_loeve(images, n_coefficients=64)
    covariance = np.cov(coefficients.T, bias=True)
    np.testing.assert_allclose(covariance, np.diag(np.diag(covariance)), atol=1e-9)
    assert (np.diff(np.diag(covariance)) <= 1e-9).all()
    assert np.trace(covariance) == pytest.approx(images.reshape(len(images), -1).var(axis=0).sum())


def test_profile_correlation_at_lag_zero_is_a_covariance(images):
    profiles = features._profiles(images[:5])
    at_zero = features.profile_correlations(images[:5])[:, 30:45]
    expected = [np.cov(p, bias=True)[np.triu_indices(6, k=1)] for p in profiles]
    np.testing.assert_allclose(at_zero, expected, atol=1e-9)


def test_holes_are_counted_as_one_by_one(images):
    one_by_one = [ndimage.label(np.pad(image < features.INK, 1, constant_values=True))[1] - 1 for image in images]
    np.testing.assert_array_equal(features.morphology(images)[:, 0], one_by_one)
    target = load_digits().target
    assert np.median(np.array(one_by_one)[target == 0]) == 1
    assert np.median(np.array(one_by_one)[target == 1]) == 0


def test_morphology_of_a_bar():
    bar = np.zeros((1, 8, 8))
    bar[0, 1:7, 3] = 16.0
    holes, area, down, height, width, slant, eccentricity = features.morphology(bar)[0]
    assert (holes, area, down, width, slant) == (0, 96, 3.5, 0, 0)
    assert (height, eccentricity) == pytest.approx((np.arange(6).std(), 1.0))
