"""Zips of images that must be refused."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib

import numpy as np
from PIL import Image

from tests.hostile.making import Case, many_entries, zipped


def picture(side: int = 20, seed: int = 0, form: str = "PNG", mode: str = "RGB", **more: object) -> bytes:
    """Return an image of noise."""
    buffer = io.BytesIO()
    pixels = np.random.default_rng(seed).integers(0, 255, (side, side, 3), dtype=np.uint8)
    Image.fromarray(pixels).convert(mode).save(buffer, form, **more)
    return buffer.getvalue()


def animated(form: str = "PNG") -> bytes:
    """Return an image of three frames."""
    frames = [Image.fromarray(np.full((8, 8, 3), shade, np.uint8)) for shade in (0, 100, 200)]
    buffer = io.BytesIO()
    frames[0].save(buffer, form, save_all=True, append_images=frames[1:])
    return buffer.getvalue()


def deep() -> bytes:
    """Return a PNG of 16 bits."""
    buffer = io.BytesIO()
    Image.fromarray(np.full((5, 5), 30_000, np.uint16)).save(buffer, "PNG")
    return buffer.getvalue()


def png(width: int, height: int, pixels: bytes = b"\0" * 99, extra: bytes = b"") -> bytes:
    """Return a PNG of a few bytes whose header promises width times height pixels."""
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    body = chunk(b"IHDR", header) + extra + chunk(b"IDAT", zlib.compress(pixels)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


def chunk(kind: bytes, content: bytes) -> bytes:
    """Return a part of a PNG."""
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def packed(members: dict[str, bytes], compress: bool = True) -> bytes:
    """Return a zip of members with any names."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED if compress else zipfile.ZIP_STORED) as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content, archive.compression)
    return buffer.getvalue()


def linked(name: str, target: str) -> bytes:
    """Return a zip with a symbolic link."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        link = zipfile.ZipInfo(name)
        link.create_system, link.external_attr = 3, 0o120777 << 16
        archive.writestr(link, target)
    return buffer.getvalue()


def overlapping() -> bytes:
    """Return a zip of 300 entries that all unpack the same 10 MB."""
    content = packed({"a.png": b"\0" * 10**7})
    at, end = content.index(b"PK\x01\x02"), content.index(b"PK\x05\x06")
    entry = content[at:end]
    closing = content[end : end + 8] + struct.pack("<HHIIH", 300, 300, 300 * len(entry), at, 0)
    return content[:at] + entry * 300 + closing


GOOD = picture()
BROKEN = "damaged or no PNG or JPEG"
_IMAGES = {
    "no zip": (lambda: b"PK\x03\x04 nothing", "is no zip that can be opened"),
    "empty file": (lambda: b"", "is empty|no zip"),
    "empty zip": (lambda: packed({}), "holds no PNG or JPEG"),
    "a png, not zipped": (lambda: GOOD, "no zip"),
    "no image in it": (lambda: packed({"a.txt": b"x"}), "holds no PNG or JPEG"),
    "tables in it": (lambda: packed({"a.csv": b"id,x\n1,2\n"}), "unzip tables"),
    "a million by a million": (
        lambda: packed({"a.png": png(10**6, 10**6)}),
        "far too many pixels, over the limit of 16",
    ),
    "nine thousand by nine thousand": (
        lambda: packed({"a.png": png(9000, 9000)}),
        "9,000 x 9,000 pixels, over the limit",
    ),
    "zero pixels": (lambda: packed({"a.png": png(0, 5)}), BROKEN),
    "negative pixels": (lambda: packed({"a.png": png(2**32 - 1, 2**32 - 1)}), f"far too many pixels|{BROKEN}"),
    "too few pixels": (lambda: packed({"a.png": png(300, 300)}), BROKEN),
    "text that unpacks to 100 MB": (
        lambda: packed({"a.png": png(5, 5, bytes(30), chunk(b"zTXt", b"k\0\0" + zlib.compress(bytes(10**8))))}, False),
        BROKEN,
    ),
    "truncated image": (lambda: packed({"a.png": GOOD[:200]}), BROKEN),
    "truncated jpeg": (lambda: packed({"a.jpg": picture(form="JPEG")[:300]}), BROKEN),
    "text named png": (lambda: packed({"a.png": b"hello"}), BROKEN),
    "no bytes": (lambda: packed({"a.png": b""}), BROKEN),
    "gif named png": (lambda: packed({"a.png": picture(form="GIF", mode="P")}), BROKEN),
    "tiff named jpg": (lambda: packed({"a.jpg": picture(form="TIFF")}), BROKEN),
    "bmp named png": (lambda: packed({"a.png": picture(form="BMP")}), BROKEN),
    "eps named png": (lambda: packed({"a.png": b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n"}), BROKEN),
    "svg named png": (lambda: packed({"a.png": b"<svg onload='alert(1)'/>"}), BROKEN),
    "zip named png": (lambda: packed({"a.png": packed({"b.png": GOOD})}), BROKEN),
    "flipped header": (lambda: packed({"a.png": GOOD[:20] + b"\xff" + GOOD[21:]}), f"{BROKEN}|pixels"),
    "a ratio of a thousand": (lambda: packed({"a.png": b"\0" * 10**7}), "more than images do"),
    "overlapping entries": (overlapping, "more than images do"),
    "one id twice": (lambda: packed({"x/1.png": GOOD, "y/1.jpg": GOOD}), "several images named '1'"),
    "one name in two cases": (lambda: packed({"1.png": GOOD, "1.PNG": GOOD}), "several images named '1'"),
    "truncated zip": (lambda: packed({"a.png": GOOD})[:300], "is no zip"),
    "a file without a name": (lambda: packed({"": GOOD}), "is no zip that can be opened"),
    "a link": (lambda: linked("a.png", "/etc/passwd"), BROKEN),
    "too many": (lambda: packed({f"{k}.png": b"" for k in range(10_001)}), "over 10,000"),
    "a million entries": (lambda: many_entries(1_000_000, {"a.png": GOOD}), "over 10,000"),
    "encrypted": (
        lambda: (
            GOOD and packed({"a.png": GOOD}).replace(b"PK\x01\x02\x14\x03\x14\0\0\0", b"PK\x01\x02\x14\x03\x14\0\x01\0")
        ),
        "no zip that can be opened",
    ),
    "flipped bytes": (lambda: packed({"a.png": GOOD}, False).replace(b"IDAT", b"IDAU"), f"{BROKEN}|no zip"),
    "a model file's ending": (lambda: zipped(**{"header.json": b"{}"}), "holds no PNG or JPEG"),
}
REFUSED = [Case(label, "photos.zip", content, answer, "images") for label, (content, answer) in _IMAGES.items()]
