"""A parameter declared once: signature, scikit-learn's protocol, checks, docstring, slider."""

from __future__ import annotations

import inspect
import pickle

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone

from hetcore.errors import ParameterError
from hetcore.parameters import Declared, Domain, Flag, Interval, OneOf, Seed, Slider, Whole, param


class Sampling:
    """Parameters of drawing rows."""

    subsample: float = param(0.6, Interval(0, 1, "(]", "1 takes all"), "Share of the rows of a tree.")


class Toy(Sampling, Declared, BaseEstimator):
    """A toy.

    It learns nothing.

    Attributes
    ----------
    nothing_ : None
    """

    _positional = ("subsample", "rounds", "kind", "depth")

    rounds: int = param(40, Whole(1), "Rounds N. As many as it takes.", Slider("Rounds N", 5, 200, 5))
    kind: str = param("a", OneOf("a", "b", None), "Which of them.")
    depth: int = param(3, Whole(1, also={-1: "no limit"}), "Depth of the trees.")
    exact: bool = param(False, Flag(), "To the letter.")
    seed: int | None = param(0, Seed(), "Seed.")


class Smaller(Toy, first=("path",)):
    """A smaller toy."""

    _positional = ("path", *Toy._positional)
    rounds = 5
    path: str = param("here", Domain(lambda v: isinstance(v, str), "a text"), "Where.")


def test_the_signature_is_that_of_the_declaration():
    given = inspect.signature(Toy).parameters
    assert {name: each.default for name, each in given.items()} == {
        "subsample": 0.6, "rounds": 40, "kind": "a", "depth": 3, "exact": False, "seed": 0,
    }  # fmt: skip
    assert [each.kind.name for each in given.values()] == ["POSITIONAL_OR_KEYWORD"] * 4 + ["KEYWORD_ONLY"] * 2
    assert Toy(0.5, 7).rounds == 7 and Toy(0.5, 7).subsample == 0.5
    for wrong in ((lambda: Toy(rate=1)), (lambda: Toy(1, 2, "a", 3, True)), (lambda: Toy(1, subsample=2))):
        with pytest.raises(TypeError):
            wrong()


def test_scikit_learn_reads_sets_and_clones():
    toy = Toy(rounds=9)
    assert toy.get_params() == {"subsample": 0.6, "rounds": 9, "kind": "a", "depth": 3, "exact": False, "seed": 0}
    assert clone(toy).get_params() == toy.get_params()
    assert toy.set_params(depth=-1).depth == -1
    with pytest.raises(ValueError, match="Invalid parameter 'rate'"):
        toy.set_params(rate=2)
    assert "rounds=9" in repr(toy)


def test_an_unknown_parameter_is_refused_with_the_class_and_the_closest_name():
    for name, close in (("round", "'rounds'"), ("subsmaple", "'subsample'")):
        with pytest.raises(TypeError, match=rf"^Toy\(\) got an unexpected .* '{name}': {close} is close$"):
            Toy(**{name: 1})
    with pytest.raises(TypeError, match=r"^Toy\(\) got an unexpected .* 'zzz'$"):
        Toy(zzz=1)


def test_a_pickled_instance_is_the_same():
    assert pickle.loads(pickle.dumps(Toy(depth=2))).get_params() == Toy(depth=2).get_params()


def test_a_subclass_changes_a_default_and_keeps_the_rest():
    assert Smaller().get_params() == Toy(rounds=5).get_params() | {"path": "here"}
    assert list(inspect.signature(Smaller).parameters)[:2] == ["path", "subsample"]
    assert Smaller.rounds.slider == Toy.rounds.slider and Toy.rounds.default == 40
    assert "rounds : int, default=5" in Smaller.__doc__
    with pytest.raises(ParameterError, match="rounds=0 must be"):
        Smaller(rounds=0)._check_parameters()


def test_a_default_is_that_of_the_nearest_class():
    class Other(Toy):
        depth = 4

    class Both(Smaller, Other):
        pass

    assert (Both().rounds, Both().depth) == (5, 4)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"subsample": 0}, "subsample=0 must be in (0, 1]: 1 takes all."),
        ({"subsample": "x"}, "subsample='x' must be in (0, 1]: 1 takes all."),
        ({"rounds": 1.5}, "rounds=1.5 must be a whole number, at least 1: 40 is the default."),
        ({"rounds": True}, "rounds=True must be a whole number, at least 1: 40 is the default."),
        ({"kind": "c"}, "kind='c' must be one of 'a', 'b', None: 'a' is the default."),
        ({"depth": -2}, "depth=-2 must be a whole number, at least 1, or -1 for no limit: 3 is the default."),
        ({"exact": 1}, "exact=1 must be True or False: False is the default."),
        ({"seed": -1}, "seed=-1 must be a whole number, at least 0, or None: 0 is the default."),
    ],
)
def test_a_value_outside_its_domain_is_named(given, sentence):
    with pytest.raises(ParameterError) as caught:
        Toy(**given)._check_parameters()
    assert str(caught.value) == sentence


@pytest.mark.parametrize(
    ("domain", "good", "bad"),
    [
        (Interval(0, 1), (0, 1, 0.5, np.float32(1)), (-1e-9, 1.1, np.nan, None, True, "0", [0])),
        (Interval(0, 1, "()"), (0.5,), (0, 1)),
        (Interval(0), (0, 1e300), (np.inf, -1)),
        (Interval(0, ends="()"), (1e-300,), (0,)),
        (Whole(1, 30), (1, 30, np.int64(3)), (0, 31, 2.0, None, True)),
        (Whole(2, also={-1: "no limit"}), (2, -1), (1, 0)),
        (OneOf("x", None), ("x", None), ("y", 0, np.array(["x", "x"]))),
        (OneOf(1, 2), (1, np.int64(2)), (3, True, 1.0)),
        (OneOf(True, False, None), (True, None), (1, 0, "True")),
        (Flag(), (True, np.bool_(False)), (0, 1, None)),
        (Seed(), (0, 7, None), (-1, 0.5)),
        (Interval(0).or_none(), (None, 1), (-1,)),
        (Domain(lambda v: len(v) > 0, "something"), ([1],), ([], 3)),
    ],
)
def test_what_is_in_a_domain(domain, good, bad):
    assert all(value in domain for value in good)
    assert not any(value in domain for value in bad)


def test_the_docstring_has_each_parameter_before_the_other_sections():
    head, _, rest = Toy.__doc__.partition("Parameters\n----------\n")
    assert head == "A toy.\n\nIt learns nothing.\n\n" and rest.endswith("Attributes\n----------\nnothing_ : None\n")
    assert "subsample : float, default=0.6\n    Share of the rows of a tree. In (0, 1].\n" in rest
    assert "rounds : int, default=40\n    Rounds N. As many as it takes. At least 1.\n" in rest
    assert 'kind : {"a", "b", None}, default="a"\n' in rest
    assert "depth : int, default=3\n    Depth of the trees. At least 1. -1 for no limit.\n" in rest
    assert "seed : int or None, default=0\n" in rest


def test_a_page_reads_bounds_default_and_help_of_a_slider():
    assert Toy.rounds.slider == ("Rounds N", 5, 200, 5)
    assert (Toy.rounds.default, Toy.rounds.help) == (40, "Rounds N.")
    assert Toy().rounds == 40
