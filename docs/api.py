"""Build the API pages from the docstrings: `.venv/bin/python -m docs.api` writes docs/api/index.html and its like.

What is imported when it is first asked for is imported here, so that pdoc sees it. The pages ask no host for anything.
"""

from __future__ import annotations

from pathlib import Path

import pdoc
import pdoc.render

import hetcore

FOLDER = Path(__file__).with_name("api")
MODULES = ("hetcore", "hetcore.data", "hetcore.data.splits", "hetcore.metrics", "hetcore.distributed")
NOTEBOOK = ("LiveView", "watch")


def build(folder: Path) -> None:
    """Write the pages into a folder.

    Parameters
    ----------
    folder : Path
    """
    names = [*hetcore.__all__, *NOTEBOOK]
    vars(hetcore).update({name: getattr(hetcore, name) for name in names})
    listed, hetcore.__all__ = hetcore.__all__, names
    try:
        pdoc.render.configure(docformat="numpy", footer_text=f"hetcore {hetcore.__version__}")
        pdoc.pdoc(*MODULES, output_directory=folder)
    finally:
        hetcore.__all__ = listed


if __name__ == "__main__":
    build(FOLDER)
