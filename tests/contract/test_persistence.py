"""Models are saved whole or not at all, and load as they were."""

from __future__ import annotations

import io
import json
import os
import stat
import zipfile
from copy import deepcopy
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_array_equal

import hetcore as hc
from hetcore import archive, model_files
from hetcore.archive import array_bytes, read_array
from hetcore.errors import ModelFileError, ParameterError
from hetcore.model_files import dumps, load, save
from tests import model_files as small_models
from tests.model_files.scaler import NODES, Scaler, assert_same


def test_a_saved_model_loads_equal_from_path_and_bytes(model, tmp_path):
    path = tmp_path / "ä model.hetcore"
    save(model, path)
    assert_same(load(path), model)
    assert_same(load(str(path)), model)
    assert_same(load(path.read_bytes()), model)
    assert_same(load(memoryview(dumps(model))), model)


def test_loaded_arrays_can_be_written_and_are_contiguous(model):
    model.weights_ = np.asfortranarray(model.weights_)
    loaded = load(dumps(model))
    assert loaded.weights_.flags.c_contiguous and loaded.weights_.flags.writeable
    assert_array_equal(loaded.weights_, model.weights_)


def test_the_same_model_gives_the_same_bytes(model):
    assert dumps(model) == dumps(model) == dumps(load(dumps(model)))


def test_a_file_of_format_1_loads_for_ever(model):
    assert_same(load(Path(__file__).parent / "model_format_1.hetcore"), model)


def test_saving_over_a_file_is_all_or_nothing(model, tmp_path, monkeypatch):
    path = tmp_path / "m"
    save(model, path)
    before = path.read_bytes()
    model.weights_ = model.weights_ + 1

    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=r"m' can't be written \(No space left on device\): give another path\.$"):
        save(model, path)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["m"]


def test_a_folder_that_is_not_there_is_named(model, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"There is no folder '.*nowhere': make it"):
        save(model, tmp_path / "nowhere" / "m.hetcore")
    with pytest.raises(IsADirectoryError, match=f"^{str(tmp_path)!r} is a folder: give the path of a file.$"):
        save(model, tmp_path)


def test_a_loaded_models_parameters_are_those_that_it_had():
    data = hc.HetData({"a": pl.DataFrame({"id": range(30), "x": range(30)}), "b": hc.Source(range(30), np.eye(30))})
    model = hc.TwoWeakLearnerClassifier(n_iterations=1).fit(data, np.arange(30) % 2)
    loaded = load(dumps(model))
    assert loaded.get_params() == model.get_params() and repr(loaded) == repr(model)


@pytest.mark.parametrize(
    "name, changed",
    [
        ("MGBRegressor", {"n_iterations": 0, "target_transform": "log"}),
        ("HMF", {"n_deviation_factors": 3, "n_factors": 1}),
        ("HGBMClassifier", {"link": "sigmoid", "as_printed": True}),
        ("WeightedMultiSourceTrAdaBoostClassifier", {"votes": "hard", "as_printed": True}),
    ],
)
def test_parameters_set_since_the_fit_are_of_the_next_one(name, changed):
    model = deepcopy(small_models.fitted(name))
    answers, content = small_models.answers(name, model), dumps(model)
    loaded = load(content)
    for each in (model, loaded):
        each.set_params(**changed)
        assert dumps(each) == content
        assert np.array_equal(small_models.answers(name, each), answers)


def test_threads_set_since_the_fit_are_those_of_the_file():
    model = deepcopy(small_models.fitted("HGBMRegressor")).set_params(n_jobs=2)
    assert load(dumps(model)).n_jobs == 2


def test_a_model_takes_the_place_of_a_file_alone(model, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match=r"' is no file: give the path of one\.$"):
        save(model, tmp_path / "pipe")
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def test_the_file_is_on_the_disk_before_it_gets_its_name(model, tmp_path, monkeypatch):
    calls, sync, replace = [], os.fsync, os.replace

    def synced(handle):
        calls.append(("sync", stat.S_ISDIR(os.fstat(handle).st_mode), os.fstat(handle).st_size))
        sync(handle)

    def renamed(draft, path):
        calls.append(("rename", path.name))
        replace(draft, path)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", renamed)
    save(model, tmp_path / "m")
    assert calls[0] == ("sync", False, len(dumps(model))) and calls[1] == ("rename", "m")
    assert calls[2][:2] == ("sync", True)


def test_what_is_neither_a_path_nor_bytes_is_no_model_file():
    with pytest.raises(ModelFileError, match="^int is no model file: give its path or its bytes"):
        load(3)


def test_a_replaced_file_holds_the_new_model(model, tmp_path):
    path = tmp_path / "m"
    path.write_bytes(b"old")
    save(model, path)
    assert_same(load(path), model)


@pytest.mark.parametrize("value", [float("nan"), object(), {1, 2}, np.random.default_rng])
def test_a_parameter_that_is_no_plain_value_is_named(model, value):
    with pytest.raises(ParameterError, match="the parameter names="):
        dumps(model.set_params(names=value))


NO_NUMBERS = [
    np.array(["a"]),
    np.array([None]),
    np.array([1j]),
    np.array(["2020"], "M8[D]"),
    np.zeros(1, np.dtype([("outer", NODES)])),
    np.zeros(1, np.dtype([("a", "u1"), ("b", "f8")], align=True)),
    np.zeros(1, np.dtype([("a", "f8", (2,))])),
    np.zeros(1, np.longdouble),
    np.zeros(1, ">f8"),
    np.zeros((1,) * 9),
]


@pytest.mark.parametrize("array", NO_NUMBERS)
def test_an_array_of_anything_but_numbers_is_named(model, array):
    model.seen_ = array
    with pytest.raises(ParameterError, match="The array 'seen' of type"):
        dumps(model)


@pytest.mark.parametrize(("limit", "value"), [("MAX_MEMBERS", 4), ("MAX_HEADER_BYTES", 100), ("MAX_BYTES", 300)])
def test_a_model_too_large_to_load_is_not_saved(model, monkeypatch, limit, value):
    monkeypatch.setattr(archive, limit, value)
    with pytest.raises(ParameterError, match="too large for a file"):
        dumps(model)


def test_a_class_that_is_not_listed_is_not_saved():
    class Other(Scaler):
        pass

    with pytest.raises(ParameterError, match="class Other can't be saved"):
        dumps(Other())


@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 3), (2, 3), (1, 2, 1, 1, 1, 1, 1, 2)])
@pytest.mark.parametrize("dtype", ["u1", "i4", "i8", "f2", "f4", "f8", "?", NODES])
def test_arrays_come_back_as_they_were(shape, dtype):
    for order in "CF":
        array = np.zeros(shape, dtype=dtype, order=order)
        array[...] = np.arange(array.size).reshape(shape) % 2 if array.dtype.fields is None else array
        back = read_array(array_bytes("a", array))
        assert back.dtype == array.dtype and back.shape == array.shape
        assert back.flags.c_contiguous and back.flags.writeable and back.flags.aligned
        assert_array_equal(back, array)


# Exactly --------------------------------------------------------------------------------------------------------------


def _packed(members):
    return archive.pack({"class": "X", "parameters": {}}, {f"m{k}": b"abc" for k in range(members)})


def test_an_archive_may_be_as_large_as_the_limits(monkeypatch):
    header = json.loads(zipfile.ZipFile(io.BytesIO(_packed(2))).read("header.json"))
    length = len(json.dumps(header, separators=(",", ":")))
    for limit, value in (("MAX_MEMBERS", 3), ("MAX_HEADER_BYTES", length), ("MAX_BYTES", 6 + 2 * (1 << 20))):
        with monkeypatch.context() as patched:
            patched.setattr(archive, limit, value)
            assert _packed(2)
            patched.setattr(archive, limit, value - 1)
            with pytest.raises(ParameterError, match="too large for a file, with 2 members, 6 bytes"):
                _packed(2)


def test_a_file_of_as_many_bytes_as_the_limit_is_read(model, tmp_path, monkeypatch):
    save(model, tmp_path / "m")
    size = (tmp_path / "m").stat().st_size
    for value, good in ((size, True), (size - 1, False)):
        monkeypatch.setattr(model_files, "MAX_BYTES", value)
        monkeypatch.setattr(archive, "MAX_BYTES", value)
        for source in (tmp_path / "m", (tmp_path / "m").read_bytes()):
            if good:
                assert_same(load(source), model)
            else:
                with pytest.raises(ModelFileError, match=f"over {value:,} bytes"):
                    load(source)


def test_text_is_written_as_it_is(model):
    assert '"ü"'.encode() in dumps(model) and '"nö"'.encode() in dumps(model)


def test_parameters_of_an_estimator_within_are_not_parameters_of_the_model(model):
    with pytest.raises(ParameterError, match="the parameter names="):
        dumps(model.set_params(names=Scaler()))
    header = json.loads(zipfile.ZipFile(io.BytesIO(dumps(model.set_params(names=None)))).read("header.json"))
    assert header["parameters"] == {"rate": 0.25, "names": None}


def test_saving_leaves_no_file_open(model, tmp_path, monkeypatch):
    opened, closed, open_, close = [], [], os.open, os.close
    monkeypatch.setattr(os, "open", lambda *given: opened.append(open_(*given)) or opened[-1])
    monkeypatch.setattr(os, "close", lambda handle: closed.append(handle) or close(handle))
    save(model, tmp_path / "m")
    assert opened and opened == closed


@pytest.mark.parametrize("name", ["HGBMRegressor", "HLR", "HeteroscedasticLinearRegression", "HMF"])
def test_a_loaded_model_knows_the_names_of_its_columns(name):
    """Columns in another order than in the fit would be predicted from as if they were in its order."""
    rng = np.random.default_rng(0)
    codes = pl.DataFrame({"user": [f"u{k % 5}" for k in range(40)], "item": [f"u{k % 7}" for k in range(40)]})
    X = codes if name == "HMF" else pl.DataFrame({"a": rng.random(40), "b": rng.random(40)})
    params = {} if name == "HLR" else {"n_iterations": 2}
    model = load(dumps(getattr(hc, name)(**params).fit(X, rng.random(40))))
    assert list(model.feature_names_in_) == X.columns
    with pytest.raises(ValueError, match="order"):
        model.predict(X[:, ::-1])
    model._feature_names = [*X.columns, "c"]
    with pytest.raises(ModelFileError, match="does not name its columns"):
        load(dumps(model))


@pytest.mark.parametrize("path", [None, 3, "", ["model.hetcore"]])
def test_what_is_no_path_is_refused_before_anything_is_written(path):
    with pytest.raises(hc.ParameterError, match="is no path: give the text or Path of one."):
        hc.save(hc.GBCRegressor(), path)
