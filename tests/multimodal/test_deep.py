"""The networks of PyTorch: images as weak learners, branches and their fusion, weights as arrays."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import hetcore as hc
from hetcore import model_files
from hetcore.errors import DataError, ModelFileError, ParameterError
from hetcore.multimodal import deep
from tests.multimodal.two_modalities import halves

pytestmark = pytest.mark.skipif(not deep.has_torch(), reason=f"needs PyTorch: {deep.HOW}")


def bars(n=400, seed=0):
    """Return images of a bright spot left or right of the middle, and which."""
    rng = np.random.default_rng(seed)
    X, right = rng.normal(0, 0.1, (n, 6, 7, 2)).astype(np.float32), rng.integers(2, size=n)
    X[np.arange(n), rng.integers(6, size=n), rng.integers(3, size=n) + 4 * right, 0] += 3.0
    return X, right


def test_a_convolutional_learner_fits_vectors():
    X, right = bars()
    W = np.eye(2)[right] - 0.5
    learner = deep.ConvolutionalLearner(epochs=15).fit(X, W)
    assert learner.predict(X).shape == (400, 2) and ((learner.predict(X) - W) ** 2).mean() < 0.05
    assert_array_equal(learner.predict(X), deep.ConvolutionalLearner(epochs=15).fit(X, W).predict(X))


def test_rows_of_weight_zero_are_not_fitted():
    X, right = bars()
    W, weight = np.eye(2)[right] - 0.5, (right == 0).astype(float)
    predicted = deep.ConvolutionalLearner(epochs=15).fit(X, W, weight).predict(X)
    assert_allclose(predicted[right == 0], W[right == 0], atol=0.3)
    assert np.abs(predicted - W)[right == 1].mean() > 0.5


def test_training_leaves_the_random_numbers_and_threads_of_pytorch_alone():
    import torch

    X, right = bars(50)
    torch.manual_seed(3)
    first, threads = torch.rand(1), torch.get_num_threads()
    torch.manual_seed(3)
    deep.ConvolutionalLearner(epochs=1).fit(X, np.eye(2)[right])
    assert torch.rand(1) == first and torch.get_num_threads() == threads


def test_passes_one_by_one_are_passes_at_once():
    import torch

    X = np.random.default_rng(0).normal(size=(300, 3)).astype(np.float32)
    target = torch.from_numpy(X.sum(axis=1, keepdims=True))

    def loss(predicted, rows):
        return ((predicted - target[rows]) ** 2).mean()

    predicted = []
    for parts in ((4,), (1, 2, 1)):
        with deep.seeded(0):
            module, done = torch.nn.Linear(3, 1), 0
            for epochs in parts:
                deep.train(module, [X], loss, epochs, seed=5, start=done)
                done += epochs
            predicted.append(deep.outputs(module, [X]))
    assert_array_equal(*predicted)


@pytest.mark.parametrize("fusion", ["concatenation", "product"])
def test_a_branch_without_its_input_is_neutral(fusion):
    with deep.seeded(0):
        both = deep.two_branches([(3,), (4,)], 2, (5,), fusion)
    x, z = np.random.default_rng(0).normal(size=(2, 6, 4)).astype(np.float32)
    has, lacks = np.ones((6, 1), np.float32), np.zeros((6, 1), np.float32)
    predicted = deep.outputs(both, [x[:, :3], has, z, lacks])
    assert_allclose(predicted, deep.outputs(both, [x[:, :3], has, 5 * z, lacks]))
    weights = deep.arrays_of(both)
    hidden = np.maximum(x[:, :3] @ weights["branches.0.0.weight"].T + weights["branches.0.0.bias"], 0)
    assert_allclose(predicted, hidden @ weights["last.weight"][:, :5].T + weights["last.bias"], atol=1e-5)


def test_a_network_of_images_boosts_and_is_saved():
    data, y, _ = halves()
    params = {"n_iterations": 2, "epochs": 2, "learners": {"image": "cnn"}}
    model = hc.TwoWeakLearnerClassifier(**params).fit(data, y)
    loaded = model_files.load(model_files.dumps(model))
    assert_array_equal(loaded.predict_proba(data), model.predict_proba(data))


def test_a_learner_of_images_wants_images():
    data, y, _ = halves()
    with pytest.raises(DataError, match="A learner of images was given a table"):
        hc.TwoWeakLearnerClassifier(n_iterations=1, learners={"table": "cnn"}).fit(data, y)


def test_weights_that_do_not_fit_are_refused():
    with deep.seeded(0):
        module = deep.convolutions((6, 6, 1), 2)
    good = deep.arrays_of(module)
    name = next(iter(good))
    for bad in (
        {key: value for key, value in good.items() if key != name},
        good | {name: good[name][:1]},
        good | {name: good[name].astype(np.float64)},
        good | {name: np.full_like(good[name], np.nan)},
    ):
        with pytest.raises(ModelFileError, match="network in the model file"):
            deep.restore(module, bad)


def devices():
    """Return "cpu" by another name, and a graphics card where PyTorch sees one."""
    import torch

    return ["cpu:0"] + ["cuda"] * torch.cuda.is_available()


def fits(device):
    """Return a model of each kind, a round of networks on a device, and the data."""
    data, y, _ = halves()
    how = {"n_iterations": 2, "random_state": 0, "device": device}
    boosted = hc.TwoWeakLearnerClassifier(epochs=2, learners={"image": "cnn"}, **how).fit(data, y)
    return boosted, hc.BoostedFeatureNetworkClassifier(n_stages=5, **how).fit(data, y), data


@pytest.mark.slow
def test_a_device_trains_the_same_network_and_its_weights_come_back():
    here = [model.predict_proba(data) for *models, data in [fits("cpu")] for model in models]
    for device in devices():
        *models, data = fits(device)
        for model, again, wanted in zip(models, fits(device), here):
            found = model.predict_proba(data)
            assert_array_equal(found, again.predict_proba(data))  # the same bits from the same device
            assert_allclose(found, wanted, atol=0 if device == "cpu:0" else 0.02)
            for read in (model_files.load(model_files.dumps(model)), pickle.loads(pickle.dumps(model))):
                assert_allclose(read.predict_proba(data), found, atol=1e-5)
        module = models[1].network_.module
        assert {str(each.device) for each in module.parameters()} == {"cpu"}


@pytest.mark.parametrize("device", ["cuda:99", "gpu", "meta"])
def test_a_device_that_is_not_there_is_one_sentence(device):
    data, y, _ = halves()
    for model in (
        hc.TwoWeakLearnerClassifier(learners={"image": "cnn"}, device=device),
        hc.BoostedFeatureNetworkClassifier(device=device),
    ):
        with pytest.raises(ParameterError, match=f"can't compute on device='{device}' here: use device='cpu'"):
            model.fit(data, y)
