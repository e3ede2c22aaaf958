"""A zip of images named by id: read, and put together with tables; `tests.hostile.images` has what is refused."""

import io
import zipfile

import numpy as np
import pytest
from PIL import Image

from studio import recipes, uploads
from studio.readers import upload_schema
from studio.uploads import preview_images, read_images


def encoded(image, form="PNG", **more):
    buffer = io.BytesIO()
    image.save(buffer, form, **more)
    return buffer.getvalue()


def picture(side=20, seed=0, colour=True):
    shape = (side, side, 3) if colour else (side, side)
    return Image.fromarray(np.random.default_rng(seed).integers(0, 255, shape, dtype=np.uint8))


def zipped(**members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name.replace("__dot__", ".").replace("__slash__", "/"), content)
    return buffer.getvalue()


def packed(members):
    return zipped(**{name.replace(".", "__dot__").replace("/", "__slash__"): each for name, each in members.items()})


def test_names_are_ids_and_pixels_stay_as_they_are():
    pictures = {f"train/{k:03d}.png": picture(seed=k) for k in range(3)}
    source = read_images("p.zip", packed({name: encoded(image) for name, image in pictures.items()}))
    assert list(source.ids) == ["000", "001", "002"]
    assert np.array_equal(source.array, np.stack([np.asarray(image) for image in pictures.values()]))


def test_shades_of_grey_have_one_channel_and_sizes_are_brought_together():
    grey = {"a.png": encoded(picture(8, colour=False)), "b.jpg": encoded(picture(200, 1, colour=False), "JPEG")}
    preview = preview_images("g.zip", packed(grey))
    assert preview.pixels.shape == (2, 32, 32, 1)
    assert preview.guesses == ["32 x 32 pixels (scaled)", "shades of grey"]
    large = preview_images("g.zip", packed({f"{k}.png": encoded(picture(200, k)) for k in range(2)}))
    assert large.guesses[0] == "32 x 32 pixels (scaled)"
    alike = preview_images("g.zip", packed({"a.png": encoded(picture(8))}))
    assert alike.guesses[0] == "8 x 8 pixels"


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGBA", "CMYK", "I;16"])
def test_every_mode_becomes_grey_or_colour(mode):
    values = np.full((5, 5), 30_000, np.uint16)
    image = Image.fromarray(values) if mode == "I;16" else picture(5).convert(mode)
    content = encoded(image, "JPEG" if mode == "CMYK" else "PNG")
    source = read_images("m.zip", packed({f"x.{'jpg' if mode == 'CMYK' else 'png'}": content}))
    assert source.array.shape[:3] == (1, 5, 5) and source.array.shape[3] in (1, 3)
    if mode == "I;16":
        assert source.array[0, 0, 0, 0] == int(255 * 30_000 / 65_535)


def test_the_first_frame_of_an_animation_is_taken():
    frames = [picture(6, seed) for seed in (1, 2)]
    content = packed({"x.png": encoded(frames[0], "PNG", save_all=True, append_images=frames[1:])})
    assert np.array_equal(read_images("a.zip", content).array[0], np.asarray(frames[0]))
    assert "1 image with several frames: the first is taken" in str(preview_images("a.zip", content).findings[0])


def test_other_files_are_left_out_and_reported():
    preview = preview_images(
        "p.zip", packed({"1.png": encoded(picture()), "notes.txt": b"x", "__MACOSX/._1.png": b"x"})
    )
    assert preview.ids == ["1"]
    assert [(finding.kind, finding.count, finding.examples) for finding in preview.findings] == [
        ("no_image", 1, ("notes.txt",))
    ]


def test_images_meet_a_table_by_their_names():
    images = packed({f"{k}.png": encoded(picture(seed=k)) for k in range(6)})
    table = b"id,size,label\n" + b"".join(b"%d,%d.5,%s\n" % (k, k * k, b"ab"[k % 2 : k % 2 + 1]) for k in range(7))
    files = {"photos.zip": images, "things.csv": table}
    given = [uploads.read(name, content) for name, content in files.items()]
    assert [upload.role for upload in given] == ["images", "table"]
    ids = {"things.csv": upload_schema.guess_ids(given)["things.csv"][0]}
    assert ids == {"things.csv": "id"}
    recipe = recipes.recipe_of(given, ids, upload_schema.guess_label(given, ids), "classification", {})
    data = recipes.build(recipe, files.__getitem__)
    assert data.source_names == ["things", "photos"]
    assert data.sources["photos"].array.shape == (6, 20, 20, 3)
    assert data.mask.sum(axis=1).tolist() == [7, 6]
    assert recipes.files(recipe) == ["things.csv", "photos.zip"]
