"""A parameter is declared once: name, type, default, domain, words, and the studio's slider.

    class Boosting(Declared, BaseEstimator):
        \"\"\"Boosting.\"\"\"

        n_iterations: int = param(40, Whole(1), "Rounds N.", Slider("Rounds N", 5, 200, 5))
        subsample: float = param(0.6, Interval(0, 1, "(]"), "Share of the rows that a tree is grown on.")

    class SmallBoosting(Boosting):
        \"\"\"Boosting in few rounds.\"\"\"

        n_iterations = 5                # another default; the rest of the declaration stays

From that come the constructor and its signature (so `get_params`, `set_params` and `clone` of scikit-learn work), the
section "Parameters" of the docstring, the check before a fit, and the studio's control. `Boosting.subsample` is the
declaration, `Boosting().subsample` the value. A plain class of declarations is a group that several classes share.
"""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, dataclass_transform

import numpy as np

from hetcore.checks import finite, flag, whole
from hetcore.data.text import shown
from hetcore.errors import ParameterError

__all__ = [
    "REQUIRED", "Declared", "Domain", "Flag", "Interval", "OneOf", "Parameter", "Seed", "SeedAndThreads", "Slider",
    "Whole", "param",
]  # fmt: skip


# Domains --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Domain:
    """What a parameter may be.

    Parameters
    ----------
    holds : callable
        Whether a value is in the domain; it may raise TypeError or ValueError at what it was not written for.
    words : str
        What a value must be, as in "subsample=2 must be WORDS."
    note : str, default=""
        The domain for the docstring, such as "In (0, 1].", where the type says too little.
    choices : tuple, default=()
        All that it may be, where these are few.
    """

    holds: Callable[[Any], bool]
    words: str
    note: str = ""
    choices: tuple[Any, ...] = ()

    def __contains__(self, value: Any) -> bool:
        try:
            return bool(self.holds(value))
        # a domain says no rather than raise: it is asked about whatever a person or a file gives
        except (TypeError, ValueError):
            return False

    def or_none(self, words: str = "None") -> Domain:
        """Return this domain and None."""
        return replace(self, holds=lambda value: value is None or self.holds(value), words=f"{self.words}, or {words}")

    def or_text(self, *texts: str) -> Domain:
        """Return this domain of numbers and some texts."""
        words = f"{', '.join(map(repr, texts))} or {self.words}"
        return replace(self, holds=lambda v: v in texts if isinstance(v, str) else self.holds(v), words=words)


def Interval(low: float, high: float = np.inf, ends: str = "[]", cure: str = "") -> Domain:
    """Return the domain of the finite numbers between two.

    Parameters
    ----------
    low, high : float
    ends : {"[]", "(]", "[)", "()"}, default="[]"
        Whether the ends are in it.
    cure : str, default=""
        What follows the rule in an error, such as "0.1 is a good start".
    """

    def holds(value: Any) -> bool:
        above = low <= value if ends[0] == "[" else low < value
        return finite(value) and above and (value <= high if ends[1] == "]" else value < high)

    # "1e6", not "1e+06"
    least, most = (f"{end:g}".replace("e+0", "e") for end in (low, high))
    bounded = f"in {ends[0]}{least}, {most}{ends[1]}"
    open_ended = f"at least {least}" if ends[0] == "[" else f"above {least}"
    words = bounded if np.isfinite(high) else "a finite number" + (", " if ends[0] == "[" else " ") + open_ended
    note = bounded if np.isfinite(high) else open_ended
    return Domain(holds, words + (f": {cure}" if cure else ""), f"{note[0].upper()}{note[1:]}.")


def Whole(least: int, most: float = np.inf, also: Mapping[int, str] | None = None, cure: str = "") -> Domain:
    """Return the domain of the whole numbers from `least` to `most`.

    Parameters
    ----------
    least : int
    most : int, optional
    also : mapping of int to str, optional
        Other numbers, each with what it means: {-1: "no limit"}.
    cure : str, default=""
        What follows the rule in an error.
    """
    also = dict(also or {})
    bounds = f"in [{least}, {most}]" if np.isfinite(most) else f"at least {least}"
    words = f"a whole number{' ' if np.isfinite(most) else ', '}{bounds}"
    words += "".join(f", or {number} for {meaning}" for number, meaning in also.items())
    note = f"{bounds[0].upper()}{bounds[1:]}." if np.isfinite(most) or least > 0 else ""
    note = f"{note} " if note and also else note
    note += "; ".join(f"{number} for {meaning}" for number, meaning in also.items()) + ("." if also else "")
    return Domain(
        lambda value: whole(value) and (least <= value <= most or value in also),
        words + (f": {cure}" if cure else ""),
        note,
    )


def OneOf(*among: Any) -> Domain:
    """Return the domain of a few values: texts, whole numbers, None, True and False."""

    def equal(value: Any, each: Any) -> bool:
        # True == 1 in Python: a flag must not pass for the number, nor the number for a flag
        same_kind = (isinstance(value, str) and isinstance(each, str)) or (whole(value) and whole(each))
        return value is each or (same_kind and value == each)

    words = f"one of {', '.join(map(repr, among))}"
    return Domain(lambda value: any(equal(value, each) for each in among), words, choices=among)


def Flag() -> Domain:
    """Return the domain of True and False."""
    return Domain(flag, "True or False")


def Seed() -> Domain:
    """Return the domain of a seed."""
    return Whole(0).or_none()


# Declarations ---------------------------------------------------------------------------------------------------------


class Slider(NamedTuple):
    """The studio's control of a parameter: what stands above it, its ends and its step."""

    label: str
    low: Any
    high: Any
    step: Any


@dataclass(frozen=True)
class Parameter:
    """A declared parameter.

    Attributes
    ----------
    default : Any
        `REQUIRED` if it has none.
    domain : Domain
    words : str
        What it does, with the paper's symbol, in sentences for the docstring; the first one is the slider's help.
    slider : Slider or None
    name, kind : str
        Its name and its type in words, from the class that declares it.
    """

    default: Any
    domain: Domain
    words: str
    slider: Slider | None = None
    name: str = ""
    kind: str = ""

    def __set_name__(self, owner: type, name: str) -> None:
        kind = inspect.get_annotations(owner).get(name, "")
        kind = kind if isinstance(kind, str) else getattr(kind, "__name__", str(kind))
        # a frozen object is set so once, by Python itself, when the class is made
        object.__setattr__(self, "name", name)  # frozen for all others
        # a declaration that is moved to another class keeps its type if there is none written there
        object.__setattr__(self, "kind", kind.replace(" | ", " or ") or self.kind)

    def check(self, value: Any) -> None:
        """Check a value.

        Raises
        ------
        ParameterError
            Naming the parameter, its value, the rule, and the default where the rule names no cure.
        """
        if value not in self.domain:
            # a domain with a cure of its own says enough; else the default is a value that works
            bare = ":" not in self.domain.words and self.default is not REQUIRED
            cure = f": {self.default!r} is the default" if bare else ""
            raise ParameterError(f"{self.name}={shown(value)} must be {self.domain.words}{cure}.")
        # kernels have 64 bits; seeds may have any number
        if isinstance(value, int) and abs(value) >= 2**63 and self.name != "random_state":
            raise ParameterError(f"{self.name}={shown(value)} is beyond 64 bits: give a smaller number.")

    @property
    def help(self) -> str:
        """The first sentence of its words."""
        return re.split(r"(?<=[.:;])\s", " ".join(self.words.split()))[0].rstrip(":;.") + "."

    @property
    def text(self) -> str:
        """Its lines in a docstring."""
        choices = ", ".join(map(_shown, self.domain.choices))
        kind = f"{{{choices}}}" if choices else self.kind
        default = "" if self.default is REQUIRED else f", default={_shown(self.default)}"
        words = " ".join(f"{self.words} {self.domain.note}".split())
        return f"{self.name} : {kind}{default}\n" + "\n".join(_wrapped(words))


REQUIRED = inspect.Parameter.empty


def param(default: Any, domain: Domain, words: str, slider: Slider | None = None) -> Any:
    """Declare a parameter; see `Parameter`."""
    return Parameter(default, domain, words, slider)


@dataclass_transform()  # to a type checker, whatever stands right of a declaration is its default
class Declared:
    """Base of the estimators whose parameters are declared; see the module's docstring."""

    _parameters: ClassVar[dict[str, Parameter]]
    _positional: ClassVar[tuple[str, ...] | None] = None
    """Parameters that may be given by position, the rest by name only; None is all."""

    @property
    def _without_effect(self) -> tuple[str, ...]:
        """Names of parameters that change nothing beside the values of the others."""
        return ()

    def __init_subclass__(cls, first: Sequence[str] = (), **more: Any) -> None:
        """Make the constructor and the docstring.

        Parameters
        ----------
        first : sequence of str
            Parameters of its own that stand before inherited ones in the signature.
        **more
            Of further bases.
        """
        super().__init_subclass__(**more)
        # base by base in the order of writing: a subclass adds its parameters behind those of its base
        names = dict.fromkeys([*first, *_names(cls)])
        cls._parameters = {name: _resolved(cls, name) for name in names}
        # a bare default in a subclass becomes a declaration too, so that the class attribute is one everywhere
        for name in names.keys() & vars(cls).keys():
            setattr(cls, name, cls._parameters[name])
        # a method with a constructor of its own keeps it, and its docstring
        if names and "__init__" not in vars(cls):
            cls.__init__ = _constructor(cls)
            cls.__doc__ = _documented(cls)

    def _check_parameters(self) -> None:
        """Check every parameter; raises ParameterError with the name, the value and the rule."""
        for name, parameter in self._parameters.items():
            parameter.check(getattr(self, name))


def _names(cls: type) -> list[str]:
    """Return the names of the parameters that a class inherits, base by base, and of those that it declares."""
    inherited = [name for base in cls.__bases__ for name in _names(base)]
    return [*inherited, *(name for name, value in vars(cls).items() if isinstance(value, Parameter))]


def _resolved(cls: type, name: str) -> Parameter:
    """Return a class's declaration of a parameter: the nearest one, with the nearest default."""
    values = [vars(base)[name] for base in cls.__mro__ if name in vars(base)]
    # a subclass may say only a default, which is no declaration: the nearest declaration is further up
    declared = next(value for value in values if isinstance(value, Parameter))
    return declared if values[0] is declared else replace(declared, default=values[0])


def _constructor(cls: type) -> Callable[..., None]:
    """Return an `__init__` that stores its arguments, with the signature of the declared parameters."""
    kinds = inspect.Parameter
    given = [kinds("self", kinds.POSITIONAL_OR_KEYWORD)]
    by_name = {name: cls._positional is not None and name not in cls._positional for name in cls._parameters}
    for each in sorted(cls._parameters.values(), key=lambda each: by_name[each.name]):
        kind = kinds.KEYWORD_ONLY if by_name[each.name] else kinds.POSITIONAL_OR_KEYWORD
        given.append(kinds(each.name, kind, default=each.default, annotation=each.kind))
    signature = inspect.Signature(given)

    def __init__(*args: Any, **kwargs: Any) -> None:
        # bound as Python binds; its words name neither the class nor what a wrong name may have meant
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            near = [each for name in kwargs if name not in signature.parameters for each in _nearest(name, cls)]
            raise TypeError(f"{cls.__name__}() {error}" + (f": {near[0]!r} is close" if near else "")) from None
        bound.apply_defaults()
        self, *_ = bound.arguments.values()
        for name in cls._parameters:
            setattr(self, name, bound.arguments[name])

    # scikit-learn reads the signature for get_params and clone
    __init__.__signature__ = signature
    __init__.__qualname__ = f"{cls.__qualname__}.__init__"
    return __init__


def _nearest(name: str, cls: type) -> list[str]:
    begins = [each for each in cls._parameters if each.startswith(name)]
    return begins or difflib.get_close_matches(name, cls._parameters, 1)


# Words ----------------------------------------------------------------------------------------------------------------


def _shown(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _wrapped(words: str, width: int = 108) -> list[str]:
    """Return the lines of a text, indented."""
    lines = [""]
    for word in words.split(" "):
        longer = f"{lines[-1]} {word}".strip()
        if len(longer) > width:
            lines.append(word)
        else:
            lines[-1] = longer
    return [f"    {line}" for line in lines]


def _documented(cls: type) -> str:
    """Return a class's docstring with the section "Parameters", and its bases' other sections where it has none."""
    head, own = _sections(cls.__doc__ or "")
    inherited = [_sections(base.__doc__ or "")[1] for base in cls.__mro__[:0:-1] if issubclass(base, Declared)]
    parameters = "\n".join(each.text for each in cls._parameters.values())
    sections: dict[str, str] = {"Parameters": parameters}
    for found in (*inherited, own):
        sections |= {title: text for title, text in found.items() if title != "Parameters"}
    return "\n\n".join([head, *(f"{title}\n{'-' * len(title)}\n{text}" for title, text in sections.items())]) + "\n"


def _sections(docstring: str) -> tuple[str, dict[str, str]]:
    """Return what stands before the first section of a docstring, and the sections by title."""
    head, *rest = re.split(r"^(\S[^\n]*)\n-{3,}\n", inspect.cleandoc(docstring), flags=re.MULTILINE)
    return head.rstrip(), {title: text.rstrip() for title, text in zip(rest[::2], rest[1::2])}


class SeedAndThreads(Declared):
    """The parameters of methods that share their work out to threads."""

    random_state: int | None = param(0, Seed(), "Seed; an int makes a fit repeatable bit for bit, None does not.")
    n_jobs: int | None = param(
        None,
        Whole(1, also={-1: "as many as the machine has cores"}).or_none("None for 1"),
        "Threads, each for some of the views or members, with the same bits; None for 1.",
    )
