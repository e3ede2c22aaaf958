"""A zip of PNG and JPEG images, named by id, to one array of small images; inside the sandbox.

A member's name without folders and ending is its id. Nothing is unpacked to disk. Sizes are checked before anything is
decoded: bytes by the archive's word and again while reading, pixels by the image's header.
"""

from __future__ import annotations

import io
import struct
import zipfile
from collections import Counter
from pathlib import PurePosixPath
from typing import Any

import numpy as np
from PIL import Image, ImageOps

from hetcore.data.report import Finding
from hetcore.data.text import counted
from hetcore.errors import DataError
from studio.limits import UPLOADS
from studio.messages import shown
from studio.readers.archives import BROKEN_ZIP, refuse_many_entries
from studio.readers.parsed import ParsedImages

__all__ = ["read"]

SIDE = 32
"""Pixels of a side that images of differing or large sizes are brought to."""
LARGEST = 64
"""Pixels of a side up to which images that are all alike keep their size."""
_ENDINGS = (".png", ".jpg", ".jpeg")
_FIRST = "with several frames: the first is taken"


def read(name: str, content: bytes) -> ParsedImages:
    """Read a zip of images.

    Raises
    ------
    DataError
        In one sentence, if it is no such zip, or goes beyond the limits.
    """
    refuse_many_entries(name, content, "zip fewer images")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members, others = _members(name, archive, len(content))
            taken = [_image(name, archive, member) for member in members]
    except DataError:
        raise
    except BROKEN_ZIP as error:
        raise DataError(f"{name} is no zip that can be opened ({_short(error)}): zip the images anew.") from None
    ids = [_path(member).stem for member in members]
    _refuse_twins(name, ids)
    pixels, guesses = _alike([image for image, _, _ in taken])
    if any(size != pixels.shape[2:0:-1] for _, _, size in taken):
        guesses[0] += " (scaled)"
    moving = [each for each, (_, frames, _) in zip(ids, taken) if frames > 1]
    findings = _finding("no_image", name, others, "file", "of the zip no PNG or JPEG: left out")
    return ParsedImages(ids, pixels, guesses, findings + _finding("animated_image", name, moving, "image", _FIRST))


def _finding(kind: str, name: str, files: list[str], noun: str, text: str) -> list[Finding]:
    examples = tuple(shown(each, 40) for each in files[:5])
    return [Finding(kind, name, len(files), f"{counted(len(files), noun)} {text}", examples)] if files else []


def _members(name: str, archive: zipfile.ZipFile, size: int) -> tuple[list[zipfile.ZipInfo], list[str]]:
    """Return the members that are images, and the names of the others."""
    infos = [info for info in archive.infolist() if not info.is_dir()]
    if len(infos) > UPLOADS.archive_members:
        # Asked again of the directory itself: the count before was of bytes that look like entries.
        raise DataError(f"{name} holds {len(infos):,} files, over {UPLOADS.archive_members:,}: zip fewer images.")
    unpacked = sum(info.file_size for info in infos)
    # At least one, so that an empty file divides nothing by zero.
    if unpacked > UPLOADS.unpacked_bytes or unpacked > UPLOADS.unpacked_ratio * max(size, 1):
        raise DataError(f"{name} unpacks to {unpacked:,} bytes, more than images do: zip fewer or smaller images.")
    # Of macOS's own zips: every image has a shadow of the same name.
    hidden = {info for info in infos if "__MACOSX" in info.filename or _path(info).name[:1] == "."}
    rest = [info for info in infos if info not in hidden]
    images = [info for info in rest if info.filename.lower().endswith(_ENDINGS)]
    if not images:
        raise DataError(f"{name} holds no PNG or JPEG: name images by ids, such as 17.png, and unzip tables.")
    return images, [info.filename for info in rest if not info.filename.lower().endswith(_ENDINGS)]


def _path(member: zipfile.ZipInfo) -> PurePosixPath:
    # Zips of Windows programs have backslashes.
    return PurePosixPath(member.filename.replace("\\", "/"))


def _image(name: str, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> tuple[Image.Image, int, tuple[int, int]]:
    """Return one image, grey or colour, no larger than needed, how many frames it has, and its size as it was given."""
    place = f"{shown(member.filename, 40)} in {name}"
    with archive.open(member) as file:
        # One byte more than it announces, so that more shows without being read.
        content = file.read(member.file_size + 1)
    if len(content) > member.file_size:
        raise DataError(f"{place} is larger than the zip says: zip the images anew.")
    try:
        # These two formats alone: every other decoder would be one more that a stranger's file can reach.
        image = Image.open(io.BytesIO(content), formats=("PNG", "JPEG"))
        # Pixels by the header, before any is decoded.
        if image.width * image.height <= UPLOADS.image_pixels:
            image.seek(0)
            frames = getattr(image, "n_frames", 1)
            upright = _upright(image)
            return _plain(upright), frames, upright.size
        size = f"{image.width:,} x {image.height:,} pixels"
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        size = "far too many pixels"
    except (OSError, ValueError, SyntaxError) as error:
        raise DataError(f"{place} is damaged or no PNG or JPEG ({_short(error)}): replace or leave it out.") from None
    limit = UPLOADS.image_pixels // 10**6
    raise DataError(f"{place} has {size}, over the limit of {limit} million: make it smaller.")


def _upright(image: Image.Image) -> Image.Image:
    """Return the image turned as its camera notes that it was held; as it is where the note cannot be read."""
    try:
        return ImageOps.exif_transpose(image)
    # A camera's note can be damaged where the image is not.
    except (SyntaxError, KeyError, TypeError, struct.error):
        return image


def _plain(image: Image.Image) -> Image.Image:
    """Return 8-bit grey or colour, on white where it is transparent; large ones are brought to `SIDE` at once."""
    if image.mode in ("I", "I;16", "F"):
        values = np.asarray(image, np.float64)
        # Deep images hold 0 to 255 or 0 to 65535, and nothing says which but the values.
        top = 65535.0 if values.max(initial=0) > 255 else 255.0
        image = Image.fromarray((255 * np.clip(values / top, 0, 1)).astype(np.uint8))
    if image.mode in ("RGBA", "LA", "PA") or "transparency" in image.info:
        image = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image).convert("RGB")
    image = image.convert("L" if image.mode in ("L", "1") else "RGB")
    # Large ones shrink here, one at a time: all of them in full size could be too much.
    return image if max(image.size) <= LARGEST else image.resize((SIDE, SIDE), Image.Resampling.BOX)


def _refuse_twins(name: str, ids: list[str]) -> None:
    twice = [each for each, times in Counter(ids).items() if times > 1]
    if twice:
        raise DataError(f"{name} has several images named {shown(twice[0], 40)!r}: give each its own name, its id.")


def _alike(images: list[Image.Image]) -> tuple[np.ndarray, list[str]]:
    """Return all images with one size and one number of channels, and what was done to them."""
    sizes = {image.size for image in images}
    width, height = sizes.pop() if len(sizes) == 1 else (SIDE, SIDE)
    # Grey images saved as colour are common; three equal channels would only be work.
    colour = any(_is_coloured(image) for image in images)
    pixels = np.empty((len(images), height, width, 3 if colour else 1), np.uint8)
    for k, image in enumerate(images):
        fitting = image if image.size == (width, height) else image.resize((width, height), Image.Resampling.BOX)
        pixels[k] = np.asarray(fitting.convert("RGB" if colour else "L")).reshape(height, width, -1)
    return pixels, [f"{width} x {height} pixels", "colour" if colour else "shades of grey"]


def _is_coloured(image: Image.Image) -> bool:
    if image.mode != "RGB":
        return False
    values = np.asarray(image)
    return bool((values != values[..., :1]).any())


def _short(error: BaseException) -> str:
    text: Any = str(error) or type(error).__name__
    return shown(text.splitlines()[0] if text else "unknown", 60)
