"""Make notebooks of these scripts, and pages of them: `python docs/notebooks/build.py [--pages]`.

A script has cells by "# %%" marks (the percent format of VS Code, Spyder and jupytext) and runs as plain Python.
The notebooks beside it, and with `--pages` the executed ones and HTML, are products: git ignores them.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import nbformat

HERE = Path(__file__).parent
HEAD = (
    "<meta charset='utf-8'><meta name='viewport' content='width=device-width'><title>hetcore</title>"
    "<style>:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto}"
    "pre{overflow:auto}</style>"
)
WIDGET = "application/vnd.jupyter.widget-view+json"
SCRIPTS = sorted(path for path in HERE.glob("*.py") if path.name != Path(__file__).name)


def notebook(text: str) -> Any:
    """Return a script with cell marks as a notebook."""
    made = nbformat.v4.new_notebook(metadata={"kernelspec": {"display_name": "Python 3", "name": "python3"}})
    for number, part in enumerate(re.split(r"^# %%", text, flags=re.MULTILINE)[1:]):
        mark, _, body = part.partition("\n")
        prose = "[markdown]" in mark
        source = re.sub(r"^# ?", "", body, flags=re.MULTILINE) if prose else body
        cell = (nbformat.v4.new_markdown_cell if prose else nbformat.v4.new_code_cell)(source.strip())
        cell["id"] = f"cell-{number}"
        made.cells.append(cell)
    return made


def body(made: Any) -> str:
    """Execute a notebook in this folder and return it as HTML without a head; it asks no host for anything."""
    from nbclient import NotebookClient
    from nbconvert import HTMLExporter

    NotebookClient(made, timeout=600, resources={"metadata": {"path": str(HERE)}}).execute()
    for output in (each for cell in made.cells for each in cell.get("outputs", ()) if "data" in each):
        output["data"].pop(WIDGET, None)  # blank without a kernel and scripts of another host: its text stands there
    made.metadata.pop("widgets", None)  # their state, the module's text in it
    return HTMLExporter(template_name="basic").from_notebook_node(made)[0]


def page(made: Any) -> str:
    """Return an executed notebook as a page of its own."""
    return f"<!doctype html>\n<html lang='en'><head>{HEAD}</head><body>{body(made)}</body></html>\n"


def main(arguments: list[str]) -> None:
    """Write the notebooks, and the pages where asked for."""
    for path in SCRIPTS:
        made = notebook(path.read_text(encoding="utf-8"))
        if "--pages" in arguments:
            path.with_suffix(".html").write_text(page(made), encoding="utf-8")
        nbformat.write(made, path.with_suffix(".ipynb"))


if __name__ == "__main__":
    main(sys.argv[1:])
