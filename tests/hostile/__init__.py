"""Hostile and odd uploads, made by code: each is refused in words, or read with what was found in it.

for case in CASES:
    case.name, case.content(), case.want, case.answer
"""

from tests.hostile import delimited, disguised, graphs, images, readable, structured
from tests.hostile.making import Case, arrow, cells, flipped, graphml, parquet, workbook, zipped

__all__ = [
    "CASES", "DAMAGED", "GRAPHS", "READ", "REFUSED", "TABLES", "Case", "arrow", "cells", "flipped", "graphml",
    "parquet", "workbook", "zipped",
]  # fmt: skip

TABLES = [*delimited.REFUSED, *structured.REFUSED]
GRAPHS = graphs.REFUSED
REFUSED = [*TABLES, *GRAPHS, *images.REFUSED, *disguised.DISGUISED]
READ = readable.READ
DAMAGED = disguised.DAMAGED
CASES = [*REFUSED, *DAMAGED, *READ]
