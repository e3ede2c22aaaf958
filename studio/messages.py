"""Foreign errors, names from users and numbers, in words fit for one sentence on a page."""

from __future__ import annotations

import math
import re

__all__ = ["LONGEST", "difference", "escape", "explained", "foreign", "minus", "number", "one_sentence", "shown"]

LONGEST = 300
"""Characters of a sentence, at most."""

# Folders of the server tell of accounts and versions, and nothing to the person.
_PATH = re.compile(r"(?:[A-Za-z]:)?(?:[/\\][\w.\-+@ ]+){2,}")


_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]{4,}")
"""Where an object is in memory, which tells nobody anything."""

WRITTEN_OUT = 1e9
"""Below it thousands are written out; above, a power of ten is easier to read."""

_HYPHEN = re.compile(r"(?<![\w.])-(?=\d)")
"""Before a number, and not within a name or a range."""

# A screen reader hears the label of a control as Markdown is written, so that no more is escaped than has to be.
_MARKUP = re.compile(r"(?!(?<=[^\W_])[_.\-](?=[^\W_]))([\\`*_{}\[\]()#+\-.!|<>~$:&^=@])")
"""What may be markup: not an underscore, a dot or a hyphen between two letters or digits, as in kar_04 and 1.5."""
_LINK = re.compile(r"(?<=:)(?=//)|(?<=www)(?=\.)|(?<=@)(?=\w)", re.IGNORECASE)
"""Where an invisible word joiner keeps an address from becoming a link, which it becomes whatever is escaped."""
_HIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Control characters and those that turn the direction of the text around them."""


def escape(text: object) -> str:
    """Return text as Markdown that shows it as it is, whatever it holds."""
    # White space becomes one space, for a line break would begin a new paragraph or a list.
    plain = _HIDDEN.sub("\ufffd", " ".join(str(text).split()))
    # The joiner first: an address is looked for as it is written, and not escaped.
    return _MARKUP.sub(r"\\\1", _LINK.sub("\u2060", plain))


def shown(name: str, longest: int = 60) -> str:
    """Return a name from a user without line breaks and control characters, and shortened in the middle."""
    visible = "".join(character if character.isprintable() else "\ufffd" for character in str(name))
    half = longest // 2
    # From the middle, for names in one folder often differ only at the end.
    return visible if len(visible) <= longest else f"{visible[: half - 1]}…{visible[-half:]}"


def one_sentence(text: str) -> str:
    """Return the first line of a message, control characters made visible, at most `LONGEST` characters long."""
    lines = str(text).strip().splitlines() or [""]
    # One line, for what follows is mostly the library's own account of the call.
    line = "".join(character if character.isprintable() else "\ufffd" for character in lines[0])
    return line if len(line) < LONGEST else f"{line[: LONGEST - 2]}…"


def foreign(error: BaseException, longest: int = 200) -> str:
    """Return what an error of another library says, in short and without the server's paths."""
    text_of_error = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    text_of_error = _ADDRESS.sub("", text_of_error)
    # Paths are replaced before the cut, which could leave half of one.
    return one_sentence(_PATH.sub("a file of the server", text_of_error))[:longest].rstrip(" .")


def explained(error: BaseException) -> str:
    """Return what an error says: our own errors as they are, foreign ones with their kind and a hint."""
    # Our own errors are sentences already, with the cure in them.
    if type(error).__module__.startswith(("hetcore.", "studio.")):
        return one_sentence(str(error))
    return f"The computation stopped with an error of its own ({foreign(error)}): try other settings, or report it."


def number(value: float, metric: str = "", digits: int = 3) -> str:
    """Return a number with sensible digits: an error rate in per cent, anything else with so many significant ones.

    Of a metric zeros at the end stay, so that .700 stands beside .682; thousands are written out.
    """
    if value is None or not math.isfinite(value):
        return "–"
    if metric == "error":
        return minus(f"{100 * value:.1f}%")
    if 10**digits <= abs(float(f"{value:.{digits}g}")) < WRITTEN_OUT:
        return minus(f"{value:,.0f}")
    return minus(f"{value:#.{digits}g}".rstrip(".") if metric else f"{value:.{digits}g}")


def difference(value: float, other: float, digits: int) -> float:
    """Return `value` − `other` of both as they are shown, so that what stands on a page adds up."""
    return round(round(value, digits) - round(other, digits), digits)


def minus(text: str) -> str:
    """Return numbers in text with a true minus sign: a hyphen before a number reads like a dash."""
    return _HYPHEN.sub("−", text)
