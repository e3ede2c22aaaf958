"""Build the pages of the documentation: `.venv/bin/python -m docs.api [--run]` writes docs/api/index.html and its like.

    index.html              everything, in lists
    hetcore/NAME.html       a page for each public name, from its docstring
    hetcore.html and others a page for each public module
    guides/NAME.html        README.md, CONTRIBUTING.md and docs/*.md
    notebooks/NAME.html     docs/notebooks/*.py; with --run executed, with their pictures

What is imported when it is first asked for is imported here, so that pdoc sees it. The pages ask no host for anything.
"""

from __future__ import annotations

import importlib
import re
import sys
import types
from html import escape
from pathlib import Path
from typing import get_type_hints

import pdoc
import pdoc.render
from pdoc.render_helpers import to_html

import hetcore
from docs.notebooks import build as scripts
from hetcore.parameters import Parameter

ROOT = Path(__file__).resolve().parents[1]
FOLDER = Path(__file__).with_name("api")
DATA = ("hetcore.data", "hetcore.data.plain", "hetcore.data.splits")
BESIDE = ("hetcore.baselines", "hetcore.baselines.best_joined", "hetcore.tuning", "datasets", "experiments")
MODULES = ("hetcore", *DATA, "hetcore.metrics", "hetcore.errors", "hetcore.distributed", *BESIDE)
NOTEBOOK = ("LiveView", "watch")
GUIDES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
STYLE = (
    "body{font:16px/1.55 system-ui,sans-serif;max-width:60rem;margin:1.5rem auto;padding:0 1rem}"
    ":root{color-scheme:light dark}"
    "pre{overflow:auto;padding:.6rem .8rem;border:1px solid #8886;border-radius:6px}code{font-size:.92em}"
    "table{border-collapse:collapse;display:block;overflow:auto}td,th{border:1px solid #8886;padding:.2rem .6rem}"
    "img{max-width:100%}a{color:#0072b2}@media(prefers-color-scheme:dark){a{color:#56b4e9}}"
)


def build(folder: Path, run: bool = False) -> None:
    """Write the pages into a folder.

    Parameters
    ----------
    folder : Path
    run : bool, default=False
        Whether the notebooks are executed, which takes minutes and wants the data sets.
    """
    names = [*hetcore.__all__, *NOTEBOOK]
    vars(hetcore).update({name: getattr(hetcore, name) for name in names})
    listed, hetcore.__all__ = hetcore.__all__, names
    try:
        pdoc.render.configure(docformat="numpy", footer_text=f"hetcore {hetcore.__version__}")
        _resolve_tuples()
        pdoc.pdoc(*MODULES, output_directory=folder)
        for name in names:
            _write(folder / "hetcore" / f"{name}.html", _name_page(name))
        for path in folder.rglob("*.html"):
            _write(path, _without_dead_links(path.read_text(encoding="utf-8")))
    finally:
        hetcore.__all__ = listed
    for path in GUIDES:
        _write(folder / "guides" / f"{path.stem}.html", _guide_page(path))
    for path in scripts.SCRIPTS:
        _write(folder / "notebooks" / f"{path.stem}.html", _notebook_page(path, run))
    _write(folder / "index.html", _index(names))


def _resolve_tuples() -> None:
    """Put the types of named tuples' fields in their signatures, which pdoc looks for in the wrong module."""
    for module in map(importlib.import_module, MODULES):
        for each in vars(module).values():
            if isinstance(each, type) and hasattr(each, "_fields"):
                each.__annotations__.update(get_type_hints(each))


def _without_dead_links(text: str) -> str:
    """Return a page without the links that pdoc sets to places which are not on it, such as a parameter's."""
    places = set(re.findall(r'\bid="([^"]+)"', text))
    link = re.compile(r'<a href="#([^"]+)">([^<]*)</a>')
    return link.sub(lambda match: match[0] if match[1] in places else match[2], text)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _name_page(name: str) -> str:
    """Return the page of one public name: a module that holds nothing else."""
    module = types.ModuleType(f"hetcore.{name}")
    setattr(module, name, getattr(hetcore, name))
    module.__all__ = [name]
    page = pdoc.doc.Module(module)
    for each in page.members.values():
        if isinstance(each, pdoc.doc.Class):
            vars(each).update(own_members=_methods(each), inherited_members={})
    return pdoc.render.html_module(page, {page.fullname: page})


def _methods(shown: pdoc.doc.Class) -> list[pdoc.doc.Doc]:
    """Return what a class has of hetcore, inherited or not; its parameters stand in its docstring."""
    ours = [each for each in shown.members.values() if each.taken_from[0].partition(".")[0] == "hetcore"]
    return [each for each in ours if not isinstance(getattr(each, "default_value", None), Parameter)]


def _page(title: str, body: str) -> str:
    head = f"<meta charset='utf-8'><meta name='viewport' content='width=device-width'><title>{escape(title)}</title>"
    up = "" if title == "hetcore" else "<p><a href='../index.html'>hetcore: all pages</a></p>"
    return f"<!doctype html>\n<html lang='en'><head>{head}<style>{STYLE}</style></head><body>{up}{body}</body></html>\n"


def _led(text: str, place: Path) -> str:
    """Return Markdown of a folder with links that lead to the other pages or to the files of the checkout."""

    def led(match: re.Match[str]) -> str:
        address, anchor = match[1], match[2] or ""
        if re.match(r"[a-z]+:", address):
            return match[0]
        target = (place / address).resolve()
        for folder, paths in {"guides": GUIDES, "notebooks": scripts.SCRIPTS}.items():
            if target in paths:
                return f"](../{folder}/{target.stem}.html{anchor})"
        return f"](../../../{target.relative_to(ROOT).as_posix()}{anchor})"

    return re.sub(r"\]\(([^)#\s]+)(#[^)\s]*)?\)", led, text)


def _guide_page(path: Path) -> str:
    return _page(path.stem, to_html(_led(path.read_text(encoding="utf-8"), path.parent)))


def _notebook_page(path: Path, run: bool) -> str:
    made = scripts.notebook(path.read_text(encoding="utf-8"))
    for cell in made.cells:
        cell["source"] = _led(cell["source"], path.parent) if cell["cell_type"] == "markdown" else cell["source"]
    return _page(path.stem, scripts.body(made) if run else "\n".join(map(_cell, made.cells)))


def _cell(cell: dict[str, str]) -> str:
    return to_html(cell["source"]) if cell["cell_type"] == "markdown" else f"<pre>{escape(cell['source'])}</pre>"


def _index(names: list[str]) -> str:
    def links(heading: str, folder: str, stems: list[str]) -> str:
        rows = "".join(f"<li><a href='{folder}{stem}.html'>{stem}</a></li>" for stem in stems)
        return f"<h2>{heading}</h2><ul>{rows}</ul>"

    parts = [
        "<h1>hetcore</h1>",
        links("Guides", "guides/", [path.stem for path in GUIDES]),
        links("Notebooks", "notebooks/", [path.stem for path in scripts.SCRIPTS]),
        links("Public names", "hetcore/", sorted(names)),
        links("Modules", "", [name.replace(".", "/") for name in MODULES]),
    ]
    return _page("hetcore", "".join(parts))


if __name__ == "__main__":
    build(FOLDER, run="--run" in sys.argv)
