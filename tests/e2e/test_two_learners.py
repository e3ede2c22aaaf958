"""The Two learners page in a browser: a table and a zip of images are brought, trained on, and one of them blanked."""

from __future__ import annotations

import io
import zipfile

import numpy as np
import polars as pl
import pytest
from e2e_studio import TRAINING, idle, open_files, trained
from PIL import Image
from playwright.sync_api import expect

pytestmark = pytest.mark.e2e
N = 120


def _files() -> list[dict]:
    """Return leaves whose kind is the pair of what the table says and of how light the picture is."""
    rng = np.random.default_rng(0)
    long, light = rng.integers(0, 2, N), rng.integers(0, 2, N)
    ids = [f"leaf {k:03d}" for k in range(N)]
    kinds = [("broad", "long")[a] + (" dark", " light")[b] for a, b in zip(long, light)]
    table = pl.DataFrame(
        {"leaf": ids, "ratio": long + rng.normal(0, 0.3, N), "veins": rng.normal(size=N), "label": kinds}
    )
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, shade in zip(ids, light):
            pixels = np.clip(60 + 120 * shade + rng.normal(0, 20, (6, 6)), 0, 255).astype(np.uint8)
            image = io.BytesIO()
            Image.fromarray(pixels).save(image, "PNG")
            archive.writestr(f"{name}.png", image.getvalue())
    return [
        {"name": "leaves.csv", "mimeType": "text/csv", "buffer": table.write_csv().encode()},
        {"name": "scans.zip", "mimeType": "application/zip", "buffer": buffer.getvalue()},
    ]


def test_a_table_and_a_zip_of_images_learn_together(studio_url, page):
    open_files(page, studio_url)
    page.locator("input[type=file]").first.set_input_files(_files())
    expect(page.get_by_text("scans.zip").first).to_be_visible()
    page.get_by_role("button", name="Use this data", exact=False).click()
    expect(page.get_by_text("In use: Your data")).to_be_visible()
    page.get_by_role("link", name="Two learners", exact=True).click()
    expect(page.get_by_role("heading", level=1, name="Two learners")).to_be_visible()
    page.get_by_role("button", name="Train", exact=True).click()
    trained(page)
    expect(page.locator(".st-key-headline")).to_contain_text("F1 of Network on scans")
    expect(page.locator(".st-key-verdict")).to_contain_text("Together gains")
    expect(page.locator(".st-key-fallen")).to_contain_text("Without scans", timeout=TRAINING)
    # The page is drawn once more then; a tab can't be pressed between its bar's coming and its own.
    expect(page.get_by_text("Predicting with the source corrupted")).to_have_count(0)
    idle(page)
    page.get_by_role("tab", name="Instances").click()
    expect(page.locator(".st-key-strip img").first).to_be_visible()
    expect(page.get_by_test_id("stException")).to_have_count(0)
    assert page.foreign == []


def test_a_phone_shows_the_first_chart_without_scrolling(studio_url, page):
    page.set_viewport_size({"width": 400, "height": 850})
    page.goto(f"{studio_url}/Two_learners?two_rounds=3")
    expect(page.get_by_role("heading", level=1, name="Two learners")).to_be_visible()
    page.get_by_role("button", name="Train", exact=True).click()
    trained(page)
    assert page.locator(".st-key-two_f1").bounding_box()["y"] < 850 - 200
