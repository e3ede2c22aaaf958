"""Model files: saved and loaded without loss, and refused in words for anything else."""

from __future__ import annotations

import io
import json
import os
import pickle
import stat
import zipfile
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator

from hetcore import archive, model_files
from hetcore.archive import SEAL, array_bytes, read_array
from hetcore.errors import ModelFileError, ParameterError
from hetcore.model_files import dumps, load, save
from tests.model_files.forging import rebuilt, resealed, scrambled, with_header, with_member

NODES = np.dtype([("feature", "<i4"), ("missing_left", "u1"), ("gain", "<f4")])


class Scaler(BaseEstimator):
    """A small estimator with the two methods that saving needs."""

    def __init__(self, rate=0.1, names=None):
        self.rate, self.names = rate, names

    def _get_state(self):
        return {"labels": self.labels_}, {"weights": self.weights_, "nodes": self.nodes_, "seen": self.seen_}

    def _set_state(self, values, arrays):
        if not np.isfinite(arrays["weights"]).all():
            raise ModelFileError("The weights are not finite: save the model again.")
        self.labels_, self.weights_ = list(values["labels"]), arrays["weights"]
        self.nodes_, self.seen_ = arrays["nodes"], arrays["seen"]


@pytest.fixture(autouse=True)
def _known(monkeypatch):
    monkeypatch.setitem(model_files.CLASSES, "Scaler", __name__)


@pytest.fixture
def model():
    scaler = Scaler(rate=np.float64(0.25), names=["a", "ü"])
    scaler.labels_ = ["yes", "nö"]
    scaler.weights_ = np.arange(6.0).reshape(2, 3)
    scaler.nodes_ = np.array([(1, 0, 0.5), (-1, 1, 0.0)], dtype=NODES)
    scaler.seen_ = np.zeros((0, 4), dtype=bool)
    return scaler


def assert_same(loaded, model):
    assert loaded.get_params() == model.get_params()
    assert loaded.labels_ == model.labels_
    for name in ("weights_", "nodes_", "seen_"):
        assert getattr(loaded, name).dtype == getattr(model, name).dtype
        assert_array_equal(getattr(loaded, name), getattr(model, name))


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
    with pytest.raises(OSError, match="No space"):
        save(model, path)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["m"]


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


def test_no_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "missing")
    with pytest.raises(ModelFileError, match="is not a file"):
        load(tmp_path)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "is empty"),
        (b"PK", "not a model file"),
        (b"hello world" * 20, "not a model file"),
        (b"\x89PNG\r\n\x1a\n" + bytes(200), "not a model file"),
        (pickle.dumps({"a": 1}), "never opens pickles"),
        (b"\x1f\x8b" + bytes(100), "never opens pickles"),
        (b"PK\x03\x04" + bytes(10), "cut short"),
    ],
)
def test_other_files_are_refused_by_what_they_are(content, reason):
    with pytest.raises(ModelFileError, match=reason):
        load(content)


def test_a_pickle_is_never_opened(tmp_path):
    class Bomb:
        def __reduce__(self):
            return (os.mkdir, (str(tmp_path / "ran"),))

    path = tmp_path / "model.hetcore"
    path.write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(ModelFileError, match="never opens pickles"):
        load(path)
    assert not (tmp_path / "ran").exists()


def test_an_npz_is_refused():
    buffer = io.BytesIO()
    np.savez(buffer, a=np.arange(3))
    with pytest.raises(ModelFileError):
        load(buffer.getvalue())


def test_a_file_over_the_limit_is_not_read(model, tmp_path, monkeypatch):
    save(model, tmp_path / "m")
    monkeypatch.setattr(model_files, "MAX_BYTES", 100)
    monkeypatch.setattr(archive, "MAX_BYTES", 100)
    with pytest.raises(ModelFileError, match="over 100 bytes"):
        load(tmp_path / "m")
    with pytest.raises(ModelFileError, match="over 100 bytes"):
        load((tmp_path / "m").read_bytes())


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"format": 3}, "newer hetcore .format 3.*update"),
        ({"format": 0}, "not that of a model file"),
        ({"format": True}, "not that of a model file"),
        ({"format": "1"}, "not that of a model file"),
        ({"library": "sklearn"}, "not that of a model file"),
        ({"class": "Popen"}, "holds a 'Popen', which is none of"),
        ({"class": ["Scaler"]}, "does not have exactly"),
        ({"parameters": [1]}, "does not have exactly"),
        ({"parameters": {"rat": 1}}, "does not describe a Scaler"),
        ({"members": {}}, "not those that its header lists|members that no model file has"),
        ({"members": []}, "does not have exactly"),
        ({"extra": 1}, "does not have exactly"),
    ],
)
def test_hand_edited_headers_are_refused(model, values, reason):
    with pytest.raises(ModelFileError, match=reason):
        load(with_header(dumps(model), **values))


def test_a_header_that_repeats_a_key_or_is_no_json_is_refused(model):
    for text in (b'{"format":1,"format":1}', b"[1]", b"{", b"\xff", b'{"format":NaN}', b"[" * 100_000, b"9" * 5000):
        changed = rebuilt(dumps(model), lambda members, text=text: members.update({"header.json": text}), recount=False)
        with pytest.raises(ModelFileError, match="header.json"):
            load(changed)


def test_a_huge_header_is_refused(model):
    huge = with_header(dumps(model), parameters={"names": "x" * (1 << 20)})
    with pytest.raises(ModelFileError, match="header has over"):
        load(huge)


@pytest.mark.parametrize("name", ["../evil.npy", "/etc/passwd", "arrays/../x.npy", "arrays/3.NPY", "a\\b", "model.pkl"])
def test_members_with_other_names_are_refused(model, name):
    with pytest.raises(ModelFileError, match="members that no model file has"):
        load(with_member(dumps(model), name, b"x"))


def test_missing_members_are_refused(model):
    for name in ("state.json", "arrays/0.npy", "arrays/2.npy"):
        with pytest.raises(ModelFileError):
            load(rebuilt(dumps(model), lambda members, name=name: members.pop(name)))
        with pytest.raises(ModelFileError, match="not those that its header lists"):
            load(rebuilt(dumps(model), lambda members, name=name: members.pop(name), recount=False))


def test_a_file_without_a_header_is_refused(model):
    with zipfile.ZipFile(io.BytesIO(dumps(model))) as file:
        members = {name: file.read(name) for name in file.namelist() if name != "header.json"}
    with pytest.raises(ModelFileError, match="header.json"):
        load(archive._sealed(members))


def test_duplicate_members_are_refused(model):
    buffer = io.BytesIO(dumps(model))
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(buffer, "a") as file:
        file.writestr(zipfile.ZipInfo("state.json"), b"{}")
    with pytest.raises(ModelFileError, match="two members of the same name"):
        load(resealed(buffer.getvalue()[:-SEAL]))


def test_compressed_members_are_refused(model):
    buffer = io.BytesIO(dumps(model))
    with zipfile.ZipFile(buffer, "a", zipfile.ZIP_DEFLATED) as file:
        file.writestr("arrays/3.npy", bytes(10_000_000))
    with pytest.raises(ModelFileError, match="compressed members"):
        load(resealed(buffer.getvalue()[:-SEAL]))


def test_too_many_members_are_refused_before_they_are_listed(model):
    buffer = io.BytesIO(dumps(model))
    with zipfile.ZipFile(buffer, "a") as file:
        for i in range(archive.MAX_MEMBERS):
            file.writestr(zipfile.ZipInfo(f"arrays/{i + 3}.npy"), b"")
    with pytest.raises(ModelFileError, match="directory is damaged or too long"):
        load(resealed(buffer.getvalue()[:-SEAL]))


def npy(header: bytes, data: bytes = b"") -> bytes:
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + data


LIES = [
    b"{'descr': '<f8', 'fortran_order': False, 'shape': (4000000000,), }\n",
    b"{'descr': '<f8', 'fortran_order': False, 'shape': (999999999999999, 999999999999999), }\n",
    b"{'descr': '<f8', 'fortran_order': False, 'shape': (0, 999999999999999, 999999999999999), }\n",
    b"{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }\n",
    b"{'descr': '<f8', 'fortran_order': False, 'shape': (-1,), }\n",
    b"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }\n",
    b"{'descr': '<U4', 'fortran_order': False, 'shape': (1,), }\n",
    b"{'descr': '<f3', 'fortran_order': False, 'shape': (1,), }\n",
    b"{'descr': '<b8', 'fortran_order': False, 'shape': (2,), }\n",
    b"{'descr': [('a', '<f8'), ('a', '<f8')], 'fortran_order': False, 'shape': (1,), }\n",
    b"{'descr': [('a', '|O')], 'fortran_order': False, 'shape': (2,), }\n",
    b"{'descr': __import__('os'), 'fortran_order': False, 'shape': (2,), }\n",
    b"{'shape': (2,)}\n",
    b"(" * 9000,
    b"",
]


@pytest.mark.parametrize("header", LIES)
def test_array_headers_that_lie_are_refused(model, header):
    data = npy(header, b"" if b"(0, 9" in header else bytes(16))
    with pytest.raises(ModelFileError, match="[Aa]rray|describe"):
        load(with_member(dumps(model), "arrays/0.npy", data))


@pytest.mark.parametrize("dtype", ["?", np.dtype([("x", "<f4"), ("b", "?")])])
def test_booleans_other_than_zero_and_one_are_refused(dtype):
    good = array_bytes("a", np.ones(2, dtype=dtype))
    assert_array_equal(read_array(good), np.ones(2, dtype=dtype))
    for byte in (b"\x02", b"\xff"):
        with pytest.raises(ModelFileError, match="booleans"):
            read_array(good[:-1] + byte)


@pytest.mark.parametrize("magic", [b"\x93NUMPY\x02\x00", b"\x93NUMPY\x01\x01", b"\x92NUMPY\x01\x00"])
def test_arrays_with_another_magic_are_refused(magic):
    good = array_bytes("a", np.arange(3))
    with pytest.raises(ModelFileError, match="not one that hetcore writes"):
        read_array(magic + good[len(magic) :])


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


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        ({"values": {"labels": ["a"]}, "arrays": ["weights", "nodes"]}, "arrays are not those"),
        ({"values": {"labels": ["a"]}, "arrays": ["weights", "weights", "nodes"]}, "arrays are not those"),
        ({"values": {"labels": 3}, "arrays": ["weights", "nodes", "seen"]}, "does not describe a Scaler"),
        ({"values": {}, "arrays": ["weights", "nodes", "seen"]}, "does not describe a Scaler .KeyError"),
        ({"values": {"labels": []}, "arrays": [{}, [], 1]}, "does not describe a Scaler"),
        ({"values": {"labels": []}}, "does not describe a Scaler"),
    ],
)
def test_a_state_that_the_class_dislikes_is_refused(model, state, reason):
    with pytest.raises(ModelFileError, match=reason):
        load(with_member(dumps(model), "state.json", json.dumps(state).encode()))


def test_what_the_class_finds_wrong_is_passed_on(model):
    model.weights_[0, 0] = np.nan
    with pytest.raises(ModelFileError, match="weights are not finite"):
        load(dumps(model))


def test_damage_names_the_member(model):
    content = bytearray(dumps(model))
    content[content.index(np.float64(4.0).tobytes())] ^= 1
    with pytest.raises(ModelFileError, match="arrays/0.npy|damaged"):
        load(bytes(content))


def _assert_refused_with_a_flipped_bit(content, bits):
    for at in range(len(content)):
        for bit in bits(at):
            flipped = bytearray(content)
            flipped[at] ^= 1 << bit
            with pytest.raises(ModelFileError):
                load(bytes(flipped))


def test_a_flipped_bit_of_every_byte_is_refused(model):
    _assert_refused_with_a_flipped_bit(dumps(model), lambda at: [at * 5 % 8])


@pytest.mark.slow
def test_every_flipped_bit_is_refused(model):
    _assert_refused_with_a_flipped_bit(dumps(model), lambda at: range(8))


def test_every_truncation_and_extension_is_refused(model):
    content = dumps(model)
    for size in range(0, len(content), 3):
        with pytest.raises(ModelFileError):
            load(content[:size])
    for tail in (b"\0", b"PK", content):
        with pytest.raises(ModelFileError):
            load(content + tail)


@pytest.mark.parametrize("seal", [False, True])
def test_mutated_files_are_refused_or_load_equal(model, seal):
    """With a forged seal only the members' checksums and the reader's checks stand between the bytes and the model."""
    content, rng = dumps(model), np.random.default_rng(11)
    accepted = 0
    for _ in range(3000):
        changed = scrambled(content[:-SEAL] if seal else content, rng)
        try:
            loaded = load(resealed(changed) if seal else changed)
        except ModelFileError as error:
            assert str(error).endswith((".", "hetcore.save"))
            continue
        accepted += 1
        assert_same(loaded, model)
    assert accepted < 600


def test_mutated_members_with_right_checksums_never_crash(model):
    """Forged checksums everywhere: what loads has the right types, what does not is refused with the one error type."""
    content, rng = dumps(model), np.random.default_rng(7)
    names = ["header.json", "state.json", "arrays/0.npy", "arrays/1.npy", "arrays/2.npy"]
    refused = 0
    for i in range(2000):
        name = names[i % len(names)]

        def change(members, name=name):
            members[name] = scrambled(members[name], rng)

        try:
            changed = rebuilt(content, change)
        except (ValueError, TypeError, AttributeError):
            continue  # a header that the test itself can't put checksums into
        try:
            loaded = load(changed)
        except ModelFileError:
            refused += 1
        else:
            assert loaded.weights_.dtype.kind in "biuf"
    assert refused > 700


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


@pytest.mark.parametrize("start", [b"\x80", b"\x1f\x8b", b"x\x9c", b"BZh", b"(dp", b"cjoblib"])
def test_pickles_and_what_pickles_are_packed_in_are_reported(start):
    for tail in (b"", b"abcd"):
        with pytest.raises(ModelFileError, match="never opens pickles"):
            load(start + tail)
