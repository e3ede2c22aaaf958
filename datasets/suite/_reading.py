"""What the readers of the suite share: files by name, word tables, masked views, thinned cliques."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import scipy.sparse

from datasets._fetch import RemoteFile, fetch
from datasets.suite._files import FILES

__all__ = ["classes", "columns_of", "local", "loadmat", "masked", "remote", "ring_edges", "sparse_edges", "words"]

MIN_DOCUMENTS = 5
MAX_WORDS = 1_000
COVERAGE = 0.7


def remote(repository: str, path: str) -> RemoteFile:
    """Return a file of the suite by repository ("OWNER/REPO") and path."""
    commit, checksums = FILES[repository]
    return RemoteFile(repository, commit, path, checksums[path])


def local(repository: str, path: str) -> Path:
    """Return the checked copy of a file, downloading it on first use."""
    return fetch(remote(repository, path))


def loadmat(repository: str, path: str) -> dict[str, Any]:
    """Return the variables of a MATLAB file."""
    from scipy.io import loadmat as read

    return read(local(repository, path))


def columns_of(cells: np.ndarray, prefix: str) -> pl.DataFrame:
    """Return an (n, d) array as a table of d columns, "prefix_001" and so on; float32."""
    width = len(str(cells.shape[1]))
    names = [f"{prefix}_{number:0{width}d}" for number in range(1, cells.shape[1] + 1)]
    return pl.DataFrame(np.ascontiguousarray(cells, dtype=np.float32), schema=names)


def words(counts: Any, prefix: str = "word") -> pl.DataFrame:
    """Return a document-by-word matrix (n, d) as a table of its common words.

    Kept are words in at least 5 documents, and of these the 1,000 in most documents (on a tie, the earlier column).
    The rule looks at no label. A column is named by the word's number in the file.

    Parameters
    ----------
    counts : (n, d) array or scipy sparse matrix
        Any non-negative weights of words; 0 where a word is absent.
    prefix : str, default="word"
        Of the columns' names.
    """
    counts = scipy.sparse.csc_array(counts)
    documents = np.diff(counts.indptr)
    common = np.argsort(-documents, kind="stable")[:MAX_WORDS]
    common = np.sort(common[documents[common] >= MIN_DOCUMENTS])
    names = [f"{prefix}_{number + 1:04d}" for number in common]
    return pl.DataFrame(counts[:, common].toarray().astype(np.float32), schema=names)


def masked(views: Mapping[str, pl.DataFrame], seed: int, coverage: float = COVERAGE) -> dict[str, pl.DataFrame]:
    """Take away whole records from views that cover every instance.

    Each record stays with probability `coverage`, independently; an instance that would lose all of its records keeps
    one of them, drawn at random.

    Parameters
    ----------
    views : mapping of str to polars.DataFrame
        Aligned tables of n rows.
    seed : int
        Seed of the draw.
    coverage : float in (0, 1], default=0.7
        Probability that a record stays.
    """
    generator = np.random.default_rng(seed)
    n = len(next(iter(views.values())))
    kept = generator.random((len(views), n)) < coverage
    spared = generator.integers(len(views), size=n)
    kept[spared, np.arange(n)] |= ~kept.any(axis=0)
    return {name: table.filter(pl.Series(keep)) for (name, table), keep in zip(views.items(), kept)}


def classes(numbers: np.ndarray, names: Sequence[str] | str) -> list[str]:
    """Return class numbers (n,) as text: `names[number]`, or "prefix number" where only a prefix is known."""
    numbers = np.asarray(numbers).ravel()
    if isinstance(names, str):
        return [f"{names} {number}" for number in numbers]
    return [names[number] for number in numbers]


def sparse_edges(ids: Sequence[str], matrix: Any) -> pl.DataFrame:
    """Return the links of a square matrix (n, n) as an edge list, each pair once, without self-links and weights."""
    matrix = scipy.sparse.coo_array(matrix)
    pairs = np.sort(np.column_stack([matrix.row, matrix.col]), axis=1)
    pairs = np.unique(pairs[pairs[:, 0] < pairs[:, 1]], axis=0)
    ids = np.asarray(ids, dtype=object)
    return pl.DataFrame({"source": ids[pairs[:, 0]].tolist(), "target": ids[pairs[:, 1]].tolist()})


def ring_edges(ids: Sequence[str], groups: Sequence[Any], k: int = 5, seed: int | None = None) -> pl.DataFrame:
    """Link the members of each group in a ring, each to the k next ones: a clique of m made of at most k m edges.

    Cliques of a thousand have half a million edges that say one thing. A ring says it with k m, and the mean over a
    member's 2 k neighbours is a fair sample of the group where the order is random.

    Parameters
    ----------
    ids : sequence of str (n,)
        The instances.
    groups : sequence (n,)
        The group of each; None belongs to no group.
    k : int, default=5
        Next members to link.
    seed : int, optional
        Seed of the order within a group; by default the order of `ids` (of time, say), and the ring is left open.
    """
    order = np.arange(len(ids)) if seed is None else np.random.default_rng(seed).permutation(len(ids))
    members: dict[Any, list[str]] = {}
    for place in order:
        if groups[place] is not None:
            members.setdefault(groups[place], []).append(ids[place])
    pairs = [pair for ring in members.values() for pair in _ring(ring, k, closed=seed is not None)]
    return pl.DataFrame(pairs, schema={"source": pl.String, "target": pl.String}, orient="row")


def _ring(members: list[str], k: int, closed: bool) -> list[tuple[str, str]]:
    m = len(members)
    steps = [(i, i + step) for step in range(1, k + 1) for i in range(m)]
    if not closed:
        return [(members[i], members[j]) for i, j in steps if j < m]
    places = {tuple(sorted((i, j % m))) for i, j in steps if i != j % m}
    return [(members[i], members[j]) for i, j in sorted(places)]
