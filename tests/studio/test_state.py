"""The state of a page as text: what goes in comes out, what does not belong there is bounded or left out."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studio import state
from studio.state import Limits, decode, encode


@given(st.one_of(st.booleans(), st.integers(-(10**6), 10**6), st.floats(-1e6, 1e6), st.lists(st.text(), max_size=5)))
def test_what_goes_in_comes_out(value):
    assert decode(encode(value), value) == value and type(decode(encode(value), value)) is type(value)


@pytest.mark.parametrize(
    "text, like, limits, value",
    [
        ("0", 0.3, Limits(0.0, 3.0), 0.0),
        ("99", 0.3, Limits(0.0, 3.0), 3.0),
        ("-1", 5, Limits(0, 9999), 0),
        ("7.9", 5, Limits(0, 9999), 7),
        ("1e999", 0, Limits(0, 9999), None),
        ("nan", 0.0, Limits(0, 1), None),
        ("9" * 400, 0, Limits(0, 9999), 9999),
        ("", 0, Limits(0, 9999), None),
        ("0x10", 0, Limits(0, 9999), None),
        ("0.3", 1.0, Limits(choices=(0.1, 0.2, 0.5)), 0.2),
        ("yes", False, None, None),
        ("mean", "median", Limits(choices=["mean", "median"]), "mean"),
        ("<b>", "median", Limits(choices=["mean", "median"]), None),
        ('["b","x"]', ["a"], Limits(choices=["a", "b"]), ["b"]),
        ('["x"]', ["a"], Limits(choices=["a", "b"]), None),
        ("[]", ["a"], Limits(choices=["a", "b"]), []),
        ("[1]", ["a"], None, None),
        ("[" * 100_000, ["a"], None, None),
        ('{"a": 1}', ["a"], None, None),
    ],
)
def test_an_address_is_taken_as_far_as_the_control_allows(text, like, limits, value):
    assert decode(text, like, limits) == value


def test_a_short_address_holds_all_and_a_long_one_an_id(tmp_path):
    assert state.address("http://studio/Consensus", {"l0": "0.0", "data": "a b"}, tmp_path) == (
        "http://studio/Consensus?l0=0.0&data=a+b"
    )
    assert not list(tmp_path.iterdir())
    long = {"sources": "x" * 3000, "l0": "0.0"}
    found = state.address("http://studio/Consensus", long, tmp_path)
    name = found.removeprefix("http://studio/Consensus?state=")
    assert len(found) < 80 and state.kept(name, tmp_path) == long
    assert state.keep(long, tmp_path) == name and len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("name", ["", "../../etc/passwd", "0" * 24, "Z" * 24])
def test_an_id_that_is_not_kept_is_refused_in_a_sentence(name, tmp_path):
    with pytest.raises(ValueError, match="no longer kept here"):
        state.kept(name, tmp_path)


@pytest.mark.parametrize(
    "text, words",
    [("{", "can't be read"), ("[]", "can't be read"), ('{"schema": 1, "state": {"a": 1}}', "can't be read"),
     ('{"schema": 2, "state": {}}', "newer studio")],
)  # fmt: skip
def test_a_corrupted_state_is_refused_in_a_sentence(text, words, tmp_path):
    (tmp_path / f"{'a' * 24}.json").write_text(text)
    with pytest.raises(ValueError, match=words):
        state.kept("a" * 24, tmp_path)


def test_too_much_is_refused_and_the_oldest_states_go(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="too many settings"):
        state.keep({"x": "y" * state.MOST_BYTES}, tmp_path)
    monkeypatch.setattr(state, "MOST_STATES", 2)
    for number in range(4):
        state.keep({"x": str(number)}, tmp_path)
    assert len(list(tmp_path.iterdir())) == 2
    assert all(json.loads(path.read_text())["schema"] == state.SCHEMA for path in tmp_path.iterdir())


def test_controls_of_an_address_of_before_have_the_names_of_today():
    old = {"spoilt": "near", "spoilt_share": "80", "noise_rounds": "20", "noise_columns_many": "20", "l0": "0.3"}
    both = {f"noise_{name}_{kind}" for name in ("rounds", "columns") for kind in ("classification", "regression")}
    given = state.of_today(old)
    assert given == {"corrupted": "near", "corrupted_share": "80", "l0": "0.3"} | dict.fromkeys(both, "20")
    assert state.of_today(given | {"spoilt": "far"}) == given


def test_a_number_of_an_address_of_before_keeps_its_slider():
    assert state.of_today({"matrix_factors": "3"}) == {"matrix_factors": "3", "matrix_factorsauto": "0"}
    today = {"matrix_factors": "3", "matrix_factorsauto": "1"}
    assert state.of_today(today) == today
