"""Encoding: what each kind becomes, for known and for new data, and through save and load."""

from __future__ import annotations

import copy
import json

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from sklearn.feature_extraction.text import TfidfVectorizer

from hetcore.data import Source
from hetcore.data.encoding import SourceEncoder
from hetcore.errors import DataError, MissingColumnsWarning, ModelFileError

NAN = np.nan


def of(**columns) -> Source:
    frame = pl.DataFrame(columns)
    return Source([f"i{k}" for k in range(frame.height)], frame)


def encoded(source: Source, new: Source | None = None) -> tuple[list[str], np.ndarray]:
    encoder = SourceEncoder().fit(source)
    matrix = encoder.transform(new or source)
    assert matrix.dtype == np.float32 and matrix.shape == ((new or source).n_rows, len(encoder.feature_names))
    return encoder.feature_names, matrix


def test_numbers_stay_and_text_numbers_are_parsed():
    names, matrix = encoded(of(x=[1.0, None, 2.5], y=[1.5, 2.5, NAN], z=["1", " -2e3", None]))
    assert names == ["x", "y", "z"]
    assert_array_equal(matrix, [[1, 1.5, 1], [NAN, 2.5, -2000], [2.5, NAN, NAN]])


def test_what_is_no_number_is_missing():
    source = of(x=["1", "two", "3", "inf"]).with_kinds({"x": "real"})
    assert_array_equal(encoded(source)[1][:, 0], [1, NAN, 3, NAN])
    assert_array_equal(encoded(of(x=[1.0, 2.0, 3.0]), of(x=["4", "five"]).with_kinds({"x": "text"}))[1][:, 0], [4, NAN])


def test_what_is_beyond_float32_is_missing_as_numbers_and_as_text():
    most = float(np.finfo(np.float32).max)
    for big in (1e39, -1e300, np.inf):
        source = of(x=["1.5", str(big), str(-most)], y=[2.5, big, most])
        assert source.kinds == {"x": "real", "y": "real"}
        assert_array_equal(encoded(source.with_kinds({"x": "real"}))[1], [[1.5, 2.5], [NAN, NAN], [-most, most]])


def test_binary_columns_become_0_and_1():
    source = of(flag=[True, False, None], word=["no", "yes", None], number=[7, 3, None], fraction=[0.5, 1.0, None])
    assert source.kinds["fraction"] == "real"
    source = source.with_kinds({"fraction": "binary"})
    assert set(source.kinds.values()) == {"binary"}
    assert_array_equal(encoded(source)[1], [[1, 0, 1, 0], [0, 1, 0, 1], [NAN] * 4])
    new = of(flag=[False, None], word=["maybe", "yes"], number=[3.0, 5.0], fraction=[1, 2])
    assert_array_equal(encoded(source, new)[1], [[0, NAN, 0, 1], [NAN, 1, NAN, NAN]])


@pytest.mark.parametrize("low, high", [(0, 1), (-3, 7), (0.0, 12.0), (-2.0, -1.0)])
def test_binary_numbers_are_read_as_their_text_is(low, high):
    """Columns of numbers are taken many at once; each alone, as text, is the slow twin."""
    given, new = of(x=[low, high, None, high]), of(x=[float(high), float(low), -0.0, 5.5, None])
    (_, _, alone), *_ = SourceEncoder().fit(given)._encoders
    for source in (given, new):
        expected = np.empty((source.n_rows, 1), np.float32)
        alone.fill(expected, source.frame["x"])
        assert_array_equal(encoded(given, source)[1], expected)
    assert_array_equal(expected[:2, 0], [1, 0])


def test_nominal_columns_become_one_column_a_frequent_value_and_one_for_the_rest():
    source = of(c=["b", "a", "b", "rare", None, "a", "b"])
    names, matrix = encoded(source)
    assert names == ["c=b", "c=a", "c: other"]
    assert_array_equal(matrix, [[1, 0, 0], [0, 1, 0], [1, 0, 0], [0, 0, 1], [NAN] * 3, [0, 1, 0], [1, 0, 0]])
    assert_array_equal(encoded(source, of(c=["new", "b"]))[1], [[0, 0, 1], [1, 0, 0]])


def test_without_a_rest_there_is_no_column_for_it():
    names, matrix = encoded(of(c=["u", "v", "w"] * 2), of(c=["u", "new", None]))
    assert names == ["c=u", "c=v", "c=w"]
    assert_array_equal(matrix, [[1, 0, 0], [0, 0, 0], [NAN] * 3])


def test_at_most_64_values_have_their_own_column():
    values = [f"v{k:03d}" for k in range(100)]
    names, matrix = encoded(of(c=values * 2 + values[50:]))
    assert len(names) == 65 and names[0] == "c=v050" and names[50] == "c=v000"
    assert_array_equal(matrix.sum(axis=1), 1)


def test_nominal_numbers_match_whatever_their_type():
    source = of(c=[1, 2, 3, 1, 2, 3]).with_kinds({"c": "nominal"})
    for new in ([3.0, 1.0], ["3", "1"], [3, 1]):
        assert_array_equal(encoded(source, of(c=new))[1], [[0, 0, 1], [1, 0, 0]])


TEXTS = [f"ship sea {'storm' if k % 2 else 'calm'} captain {k}" for k in range(30)]


def test_text_becomes_the_tf_idf_of_scikit_learn():
    source = of(t=[*TEXTS, None, ""])
    assert source.kinds == {"t": "text"}
    names, matrix = encoded(source)
    peer = TfidfVectorizer(max_features=500, sublinear_tf=True, min_df=2)
    expected = peer.fit_transform(TEXTS).toarray()
    assert names == [f"t: {word}" for word in peer.get_feature_names_out()]
    np.testing.assert_allclose(matrix[:30], expected, rtol=1e-5, atol=1e-7)
    # one file's empty cell is another's null
    assert np.isnan(matrix[30:]).all()
    new = encoded(source, of(t=["storm storm dragon", None, "dragon"]))[1]
    np.testing.assert_allclose(new[0], peer.transform(["storm storm dragon"]).toarray()[0], rtol=1e-5)
    assert np.isnan(new[1]).all() and (new[2] == 0).all()


def test_text_is_transformed_in_parts_alike(monkeypatch):
    source = of(t=[*TEXTS, None])
    whole = encoded(source)[1]
    monkeypatch.setattr("hetcore.data.column_encoders.CHUNK", 7)
    assert_array_equal(encoded(source)[1], whole)


def test_text_without_a_word_in_two_rows_becomes_a_number_of_words():
    source = of(t=["one two", "three", None, "x"]).with_kinds({"t": "text"})
    names, matrix = encoded(source)
    assert names == ["t: number of words"]
    assert_array_equal(matrix[:, 0], [2, 1, NAN, 0])


def test_arrays_are_flattened():
    array = np.arange(12.0).reshape(2, 3, 2)
    names, matrix = encoded(Source(["a", "b"], array))
    assert names[:3] == ["array[0, 0]", "array[0, 1]", "array[1, 0]"] and len(names) == 6
    assert_array_equal(matrix, array.reshape(2, 6))
    names, matrix = encoded(of(e=pl.Series([[1.0, float("inf")], None, [3.0, 4.0]], dtype=pl.Array(pl.Float64, 2))))
    assert names == ["e[0]", "e[1]"]
    assert_array_equal(matrix, [[1, NAN], [NAN, NAN], [3, 4]])


def test_columns_that_are_missing_or_new_in_other_data():
    source = of(x=[1.0, 2.0, 3.0], c=["u", "u", "v"])
    with pytest.warns(MissingColumnsWarning, match="lacks columns of the training, 'c', which count as missing"):
        names, matrix = encoded(source, of(new=[5, 6], x=[7.0, 8.0]))
    assert_array_equal(matrix[:, names.index("x")], [7, 8])
    assert np.isnan(np.delete(matrix, names.index("x"), axis=1)).all()
    with pytest.raises(DataError, match="has the columns 'new': give some of 'x', 'c'"):
        encoded(source, of(new=[1]))


def test_arrays_of_another_shape_or_kind_are_refused():
    encoder = SourceEncoder().fit(Source(["a"], np.zeros((1, 2, 3))))
    with pytest.raises(DataError, match=r"shape \(3, 2\).*\(2, 3\)"):
        encoder.transform(Source(["a"], np.zeros((1, 3, 2))))
    table = of(array=[1.0])
    with pytest.raises(DataError, match="is real here and was array in training"):
        encoder.transform(table)
    with pytest.raises(DataError, match="is array here and was real in training"):
        SourceEncoder().fit(table).transform(Source(["a"], np.zeros((1, 2))))


def test_columns_that_say_nothing_still_have_a_place():
    source = of(a=[None, None], b=[None, None], c=["u", "u"])
    source = source.with_kinds({"b": "text"}) if source.frame["b"].dtype == pl.String else source
    names, matrix = encoded(source)
    assert len(names) == 3 and np.isnan(matrix[:, :2]).all()


@pytest.fixture
def mixed() -> Source:
    words = [*TEXTS[:29], None]
    return of(
        x=np.linspace(0, 1, 30),
        flag=[True, False] * 15,
        level=["a", "b", "c"] * 10,
        words=words,
        lists=[[1.0, 2.0]] * 30,
        alone=[f"{k}x" for k in range(30)],
    )


def test_state_goes_through_json_and_back(mixed):
    encoder = SourceEncoder().fit(mixed)
    state, arrays = encoder.to_state()
    again = SourceEncoder.from_state(json.loads(json.dumps(state)), arrays)
    assert again.feature_names == encoder.feature_names
    assert_array_equal(again.transform(mixed), encoder.transform(mixed))


BROKEN = [
    lambda s, a: s.pop("columns"),
    lambda s, a: s.update(columns=3),
    lambda s, a: s["columns"].append({}),
    lambda s, a: s["columns"][0].update(kind="magic"),
    lambda s, a: s["columns"][0].update(kind=[]),
    lambda s, a: s["columns"][0].update(name=7),
    lambda s, a: s["columns"][0].update(name="flag"),
    lambda s, a: s["columns"][1].update(levels=["a", "a"]),
    lambda s, a: s["columns"][1].update(levels=["a", "b", "c"]),
    lambda s, a: s["columns"][1].update(levels="ab"),
    lambda s, a: s["columns"][2].update(rest=1),
    lambda s, a: s["columns"][2].update(levels=[f"v{k}" for k in range(65)]),
    lambda s, a: s["columns"][3].update(vocabulary=["one"]),
    lambda s, a: s["columns"][3].update(vocabulary=None),
    lambda s, a: s["columns"][4].update(shape=[-1]),
    lambda s, a: s["columns"][4].update(shape=[]),
    lambda s, a: s["columns"][4].update(shape=[2**40]),
    lambda s, a: s["columns"][4].update(shape=[2**30, 2**30]),
    lambda s, a: s["columns"][4].update(shape=[2.0]),
    lambda s, a: a.clear(),
    lambda s, a: a.update({"3:idf": a["3:idf"].astype(np.float64)}),
    lambda s, a: a.update({"3:idf": np.full_like(a["3:idf"], np.nan)}),
    lambda s, a: a.update({"3:idf": a["3:idf"][:-1]}),
]


@pytest.mark.parametrize("number", range(len(BROKEN)))
def test_a_broken_state_is_refused_in_words(mixed, number):
    state, arrays = copy.deepcopy(SourceEncoder().fit(mixed).to_state())
    BROKEN[number](state, arrays)
    with pytest.raises(ModelFileError, match="columns of a source are described wrongly"):
        SourceEncoder.from_state(state, arrays)
