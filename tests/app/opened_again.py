"""A page's address opened in another session of the same person, as by a reload or a link."""

from __future__ import annotations

from pathlib import Path

from streamlit.testing.v1 import AppTest

from tests.jobs.running import PATIENCE

ROOT = Path(__file__).resolve().parents[2]


def opened_again(page: AppTest, file: str) -> AppTest:
    """Return the page of a file of `pages/` as the address of a page opens it."""
    address = {name: values[0] if isinstance(values, list) else values for name, values in page.query_params.items()}
    other = AppTest.from_file(str(ROOT / "app.py"), default_timeout=PATIENCE)
    other.session_state["owner"] = page.session_state["owner"]
    other = other.run().switch_page(f"pages/{file}")
    other.query_params.update(address)
    other.run()
    assert not other.exception
    return other
