"""Print what is known of every data set, as Markdown: `python -m datasets > docs/data.md`."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import datasets
from datasets._dataset import Dataset

__all__ = ["document"]

HEAD = """# Data sets

Written by `python -m datasets > docs/data.md` from the entries in [datasets/](../datasets).

Nothing below is copied into this project. A data set is downloaded when it is first loaded, into the folder
`HETCORE_DATA` or `hetcore/data` in the user's cache folder; a file is used only if its SHA-256 is the one written here.
A folder that already holds the files as `OWNER/REPOSITORY/PATH` serves without a network: set `HETCORE_DATA` to it.
"""


def document() -> str:
    """Return docs/data.md."""
    return "\n".join([HEAD, *_overview(), *(line for name in datasets.names() for line in _entry(datasets.info(name)))])


def _overview() -> Iterator[str]:
    yield "| name | task | what it is |"
    yield "|---|---|---|"
    for entry in map(datasets.info, datasets.names()):
        yield f"| [`{entry.name}`](#{entry.name}) | {entry.task} | {entry.story} |"


def _entry(entry: Dataset) -> Iterator[str]:
    yield f"\n## {entry.name}\n"
    yield f"{entry.title}: `datasets.load({entry.name!r})`.\n"
    yield f"- **Terms.** {entry.licence}"
    yield f"- **Cite.** {entry.citation}"
    yield f"- **Files.** {'' if entry.files else 'None: it is there without a network.'}".rstrip()
    for file in entry.files:
        yield f"  - <{file.address}>\n    SHA-256 `{file.sha256}`"


if __name__ == "__main__":
    sys.stdout.write(document() + "\n")
