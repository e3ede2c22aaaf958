"""Bytes to text: byte order marks, UTF-8, UTF-16, cp1252, line ends, and what a text file may not have."""

from __future__ import annotations

import codecs
import re

import numpy as np

from hetcore.errors import DataError
from studio.limits import UPLOADS

__all__ = ["as_utf8"]

# UTF-32 before UTF-16, for the mark of one begins with the mark of the other.
_BOMS = (
    (codecs.BOM_UTF8, "utf-8", "UTF-8 with a byte order mark"),
    (codecs.BOM_UTF32_LE, "utf-32-le", "UTF-32"),
    (codecs.BOM_UTF32_BE, "utf-32-be", "UTF-32"),
    (codecs.BOM_UTF16_LE, "utf-16-le", "UTF-16"),
    (codecs.BOM_UTF16_BE, "utf-16-be", "UTF-16"),
)
_ENCODINGS = ("utf-8", "utf-16", "cp1252", "latin-1", "gb18030")
_MULTIBYTE = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")


def as_utf8(
    name: str, content: bytes, encoding: str | None = None, long_lines: bool = False
) -> tuple[bytes, list[str]]:
    """Return a text file as UTF-8 with line feeds, and what was guessed.

    Parameters
    ----------
    name : str
        The file's name, for sentences.
    content : bytes
        The file.
    encoding : str or None
        Given by the person; None guesses.
    long_lines : bool
        Whether lines may be of any length.

    Raises
    ------
    DataError
        If it holds NUL bytes, mixed encodings, or a line longer than the limit.
    """
    text, guesses = _decoded(name, content, encoding)
    if b"\x00" in text:
        line = text.count(b"\n", 0, text.index(b"\x00")) + 1
        raise DataError(
            f"{name} holds a NUL byte in line {line:,}: it is no text file or damaged; export it anew as CSV."
        )
    if b"\n" not in text and b"\r" in text:
        text, guesses = text.replace(b"\r", b"\n"), [*guesses, "old Macintosh line ends"]
    if not long_lines:
        _refuse_long_lines(name, text)
    return text, guesses


def _decoded(name: str, content: bytes, encoding: str | None) -> tuple[bytes, list[str]]:
    if encoding is not None:
        return _as_declared(name, content, encoding), [encoding]
    for mark, codec, text in _BOMS:
        if content.startswith(mark):
            return _recoded(name, content[len(mark) :], codec), [text]
    # Before UTF-8, which takes such bytes too: NUL is a character of it.
    if codec := _utf16_without_mark(content):
        return _recoded(name, content, codec), ["UTF-16"]
    # UTF-8 before the others: text in another encoding is hardly ever valid in it by chance.
    try:
        content.decode()
        return content, []
    except UnicodeDecodeError as error:
        if _is_chinese(content):
            return _recoded(name, content, "gb18030"), ["GB18030 (Chinese)"]
        return _as_cp1252(name, content, error.start), ["cp1252 (Western European)"]


def _is_chinese(content: bytes) -> bool:
    """Whether all bytes beyond ASCII are the common Chinese characters of GB 2312, which stand in pairs of such bytes.

    Western European text has them one by one.
    """
    try:
        # A part of a long file is enough, whose end may cut a character in two.
        text = content[:100_000].decode("gb2312", errors="strict" if len(content) <= 100_000 else "ignore")
    except UnicodeDecodeError:
        return False
    beyond = [character for character in text if character > "\x7f"]
    # Western bytes fall on such pairs too, but mostly not on Chinese characters.
    return len(beyond) >= 2 and sum("\u4e00" <= character <= "\u9fff" for character in beyond) >= 0.7 * len(beyond)


def _as_declared(name: str, content: bytes, encoding: str) -> bytes:
    if encoding not in _ENCODINGS:
        raise DataError(f"encoding={encoding!r:.40} is not read: choose one of {', '.join(_ENCODINGS)}.")
    return _recoded(name, content, encoding)


def _recoded(name: str, content: bytes, codec: str) -> bytes:
    try:
        # A mark in the text itself, where two files were joined, is not part of the first name.
        return content.decode(codec).lstrip("\ufeff").encode()
    except UnicodeError:
        raise DataError(
            f"{name} is not the {codec.upper()} text it seems to be: save it anew as CSV in UTF-8."
        ) from None


def _utf16_without_mark(content: bytes) -> str | None:
    """Return the codec if nearly every second byte of the beginning is NUL, as in Western text in UTF-16."""
    sample = np.frombuffer(content[:4096], dtype=np.uint8)
    if len(sample) < 4 or len(content) % 2:
        return None
    even, odd = (sample[0::2] == 0).mean(), (sample[1::2] == 0).mean()
    # Far apart on purpose: binary files have NULs too, but on both sides.
    if max(even, odd) < 0.7 or min(even, odd) > 0.1:
        return None
    return "utf-16-le" if odd > even else "utf-16-be"


def _as_cp1252(name: str, content: bytes, start: int) -> bytes:
    line = content.count(b"\n", 0, start) + 1
    beyond_ascii = sum(byte > 127 for byte in content[:100_000])
    multibyte = sum(map(len, _MULTIBYTE.findall(content[:100_000])))
    # Mostly valid UTF-8 with a few odd bytes is a file of two encodings; as cp1252 it would turn to rubbish without a
    # word.
    if multibyte and 2 * multibyte > beyond_ascii:
        raise DataError(f"{name} mixes encodings (line {line:,} is not UTF-8 like the rest): save it anew in UTF-8.")
    try:
        return content.decode("cp1252").encode()
    except UnicodeDecodeError:
        raise DataError(
            f"{name} is no text in UTF-8, UTF-16 or cp1252 (line {line:,}): save it anew as CSV in UTF-8."
        ) from None


def _refuse_long_lines(name: str, text: bytes) -> None:
    ends = np.flatnonzero(np.frombuffer(text, dtype=np.uint8) == 10)
    # The file need not end with a line feed.
    lengths = np.diff(np.concatenate([[-1], ends, [len(text)]]))
    longest = int(lengths.argmax())
    if lengths[longest] > UPLOADS.line_bytes:
        size = f"{lengths[longest] / 2**20:.0f} MB"
        raise DataError(
            f"{name} has a line of {size} (line {longest + 1:,}), more than {UPLOADS.line_bytes // 2**20} MB: "
            "it is no table with one row a line."
        )
