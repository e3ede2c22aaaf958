"""What a person chose on the Data page, read back from the recipe of the data in use: a reload forgets the page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from studio.readers import upload_schema
from studio.uploads import digest_of

__all__ = ["NO_LABELS", "Choices", "kinds_key", "made"]

NO_LABELS = "no labels"


@dataclass(frozen=True)
class Choices:
    """What was chosen.

    Attributes
    ----------
    chosen : dict
        Values of the page's choices, by their key.
    kinds : dict of str to dict
        By `kinds_key` of each table, the columns whose kind is another than was guessed.
    left_out : dict of str to list
        By the digest of each table, the columns that are not learned from.
    spelling : list of str
        Ways in which ids and classes are made the same.
    """

    chosen: dict[str, Any] = field(default_factory=dict)
    kinds: dict[str, dict[str, str]] = field(default_factory=dict)
    left_out: dict[str, list[str]] = field(default_factory=dict)
    spelling: list[str] = field(default_factory=list)


def kinds_key(name: str, digest: str) -> str:
    """Return the key of the kinds of a file's columns."""
    return f"kinds {name} {digest[:12]}"


def made(recipe: Mapping[str, Any], files: Mapping[str, bytes]) -> Choices:
    """Return what was chosen for the recipe of some uploaded files."""
    found = Choices(_labels(recipe), spelling=list(recipe.get("spelling") or ()))
    target = recipe.get("target") or {}
    tables = {part["file"] for part in recipe["sources"]}
    roles = [("images" if part.get("images") else "table", part) for part in recipe["sources"]]
    roles += [("graph", part) for part in recipe.get("graphs") or ()]
    roles += [("labels", target)] if target and target["file"] not in tables else []
    for role, part in roles:
        found.chosen.update(_of_file(role, part))
        digest = digest_of(files[part["file"]], part.get("options", {}).get("sheet"))
        # The label is dropped too, and is chosen as such.
        label = target.get("column") if target.get("file") == part["file"] else None
        found.left_out[digest] = [column for column in part.get("drop", ()) if column != label]
        found.kinds[kinds_key(part["file"], digest)] = dict(part.get("kinds", {}))
    return found


def _labels(recipe: Mapping[str, Any]) -> dict[str, Any]:
    """Return where the labels were chosen to be, which column, and what they are."""
    if target := recipe.get("target"):
        file, column = target["file"], target["column"]
    elif own := next((part["label"] for part in recipe["sources"] if "label" in part), None):
        sources = recipe["sources"]
        # The rows of a table alone are numbered as those of domains are, and its labels are chosen in its file.
        file, column = (upload_schema.EACH if len(sources) > 1 else sources[0]["file"]), own
    else:
        return {"label file": NO_LABELS}
    return {"label file": file, f"label of {file}": column, f"task {file} {column}": recipe.get("task")}


def _of_file(role: str, part: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was chosen of a file."""
    name, options = part["file"], part.get("options", {})
    chosen: dict[str, Any] = {f"role {name}": role}
    chosen |= {f"id {name}": part["id"]} if "id" in part else {}
    chosen |= {f"lead {name}": bool(options.get("directed"))} if role == "graph" else {}
    asked = {"sheet": f"sheet {name}", "header": f"first row {name} {role}", "day_first": f"dates {name} {role}"}
    return chosen | {key: options[option] for option, key in asked.items() if option in options}
