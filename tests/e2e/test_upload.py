"""A person brings files: two CSV tables, a Parquet table, an edge list and a GraphML, and trains on them."""

from __future__ import annotations

import io

import numpy as np
import polars as pl
import pytest
from e2e_studio import open_files, trained, use_files

playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
expect = playwright.expect

pytestmark = pytest.mark.e2e
N = 120


def _files() -> list[dict]:
    """Return films whose kind follows from two tables and from links between films of one kind."""
    rng = np.random.default_rng(0)
    kinds = np.array(["comedy", "drama"])[rng.integers(0, 2, N)]
    ids = [f"film {i:03d}" for i in range(N)]
    drama = (kinds == "drama").astype(float)
    money = pl.DataFrame({"film": ids, "budget": drama + rng.normal(0, 0.7, N), "screens": rng.normal(size=N)})
    words = pl.DataFrame({"film": ids, "length": 2 * drama + rng.normal(0, 0.7, N), "label": kinds})
    faces = pl.DataFrame({"film": ids[:80], "close ups": rng.normal(size=80), "cuts": drama[:80] + rng.normal(size=80)})
    buffer = io.BytesIO()
    faces.write_parquet(buffer)
    pairs = [(i, j) for i, j in rng.integers(0, N, (400, 2)) if kinds[i] == kinds[j] and i != j]
    edges = pl.DataFrame({"source": [ids[i] for i, _ in pairs], "target": [ids[j] for _, j in pairs]})
    nodes = "".join(f'<node id="{name}"/>' for name in ids)
    lines = "".join(f'<edge source="{ids[i]}" target="{ids[j]}"/>' for i, j in rng.integers(0, N, (100, 2)) if i < j)
    graphml = f'<graphml><graph edgedefault="undirected">{nodes}{lines}</graph></graphml>'
    return [
        {"name": "money.csv", "mimeType": "text/csv", "buffer": money.write_csv().encode()},
        {"name": "words.csv", "mimeType": "text/csv", "buffer": words.write_csv(separator=";").encode()},
        {"name": "faces.parquet", "mimeType": "application/octet-stream", "buffer": buffer.getvalue()},
        {"name": "cast.csv", "mimeType": "text/csv", "buffer": edges.write_csv().encode()},
        {"name": "places.graphml", "mimeType": "application/xml", "buffer": graphml.encode()},
    ]


def test_own_files_are_read_used_and_trained_on(studio_url, page):
    open_files(page, studio_url)
    page.locator("input[type=file]").first.set_input_files(_files())
    use = page.get_by_role("button", name="Use this data", exact=False)
    expect(use).to_be_visible()
    expect(page.get_by_text("places.graphml").first).to_be_visible()
    use_files(page)
    expect(page.get_by_test_id("stException")).to_have_count(0)
    page.get_by_role("link", name="Consensus", exact=True).click()
    expect(page.get_by_role("heading", level=1, name="Consensus")).to_be_visible()
    page.get_by_role("button", name="Train", exact=True).click()
    trained(page)
    expect(page.get_by_text("Most weight").first).to_be_visible()
    assert "data=own-" in page.url
    page.reload()  # a new session, which finds data and curves by the address
    expect(page.get_by_text("Your data: ")).to_be_visible()
    expect(page.get_by_text("Most weight").first).to_be_visible()
    expect(page.get_by_test_id("stException")).to_have_count(0)
    assert page.foreign == []


def test_a_file_that_was_removed_is_named_nowhere_and_the_others_stay(studio_url, page):
    open_files(page, studio_url)
    page.locator("input[type=file]").first.set_input_files(_files()[:2])
    expect(page.get_by_text("words.csv · 120 rows")).to_be_visible()
    page.get_by_role("button", name="Remove", exact=True).last.click()
    expect(page.get_by_text("words.csv")).to_have_count(0)
    expect(page.get_by_text("money.csv · 120 rows")).to_be_visible()
