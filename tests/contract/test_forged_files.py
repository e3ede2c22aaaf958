"""Files that are no models of ours, or were damaged or forged, are refused in a sentence."""

from __future__ import annotations

import io
import json
import os
import pickle
import zipfile

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from hetcore import archive, model_files
from hetcore.archive import SEAL, array_bytes, read_array
from hetcore.errors import ModelFileError
from hetcore.model_files import dumps, load, save
from tests.model_files.forging import rebuilt, resealed, scrambled, with_header, with_member
from tests.model_files.scaler import assert_same


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


@pytest.mark.parametrize("start", [b"\x80", b"\x1f\x8b", b"x\x9c", b"BZh", b"(dp", b"cjoblib"])
def test_pickles_and_what_pickles_are_packed_in_are_reported(start):
    for tail in (b"", b"abcd"):
        with pytest.raises(ModelFileError, match="never opens pickles"):
            load(start + tail)
