"""HetData: several sources and graphs over one set of instances, with labels for some of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from hetcore.data.alignment import joined_ids, label_findings, place_graphs, source_findings
from hetcore.data.columns import check_flags
from hetcore.data.graph import Graph
from hetcore.data.identity import positions, text_array
from hetcore.data.leaks import find_leaks, leak_findings
from hetcore.data.reading.given import (
    Labels,
    own_findings,
    read_graphs,
    read_labels,
    read_sources,
    read_target_table,
)
from hetcore.data.reading.scan import folders, scanned_ids
from hetcore.data.report import LEAK, Finding, Report
from hetcore.data.source import Source
from hetcore.data.spelling import check_ways, near_findings
from hetcore.data.summary import Views
from hetcore.data.target import label_name, placed_labels, unlabelled
from hetcore.data.text import listed, quoted
from hetcore.data.whatif import WhatIf
from hetcore.errors import DataError

__all__ = ["HetData", "check_het_data"]


class HetData(WhatIf, Views):
    """Sources, graphs and labels, aligned to one list of instances.

    Ids are text exactly as given: "001" is not "1". Whatever is dropped, merged or converted is one line of `report`.
    A `HetData` never changes: the methods that change something return a new one, which shares what did not change.

    Parameters
    ----------
    sources : mapping of str to table or Source
        At least one table, of polars, pandas or another library that speaks Arrow or narwhals; it has the id column (of
        pandas perhaps as its named index), any other columns are its values.
    graphs : mapping of str to edge list, networkx graph, (ids, scipy sparse), (ids, PyG graph) or Graph, optional
        See `Graph`.
    target : table (id, y) or tuple (ids, y), optional
        Instances without a row, or with null, are unlabelled.
    id_column : str, default="id"
        Name of the id column in the tables and in `target` (where the first column is taken if it has no such column).
    task : {"regression", "classification"}, optional
        What the labels are; by default numbers are a regression and anything else a classification. Classes are text:
        1 is "1", in predictions too.
    keep_graph_only : bool, default=True
        What happens to an id at an edge that is in no source and has no label; it is always counted and reported.
        True keeps it as an instance that only graphs know (predicted from its neighbours); False drops its edges.
    kinds : mapping of str to mapping of str to str, optional
        By source, column kinds to use in place of the guessed ones.
    spelling : sequence of str, default=()
        Ways in which ids and classes are made the same before they meet: some of `hetcore.data.spelling.WAYS`.

    Attributes
    ----------
    ids : ndarray of str (n,)
        Distinct ids in order of first appearance: over the sources, then the target, then the graphs.
    y : ndarray (n,)
        float64 with NaN, or object (str) with None, for unlabelled.
    target_kind : "regression", "classification" or None
        What `y` is; None without a target.
    label_name : str
        The column that the labels came from; empty where they have no name.
    mask : ndarray of bool (p, n)
        Which source records which instance.
    sources, graphs : dict of str to Source, Graph
        The graphs are aligned to `ids`.
    report : Report
        What was found while reading, and what gives the label away, of a what-if's own label and columns.
    steps : tuple of str
        The what-if calls that led here from the data as read, as Python text.

    Raises
    ------
    DataError
        If there is no source, or a source, graph or the target can't be used; the message says which and why.
    ParameterError
        If `task`, `keep_graph_only` or `spelling` is none.

    Examples
    --------
    >>> plots = pl.DataFrame({"film": ["A", "B", "C"], "plot": ["a heist", "a wedding", "a heist"]})
    >>> links = pl.DataFrame({"source": ["A"], "target": ["C"]})
    >>> ratings = pl.DataFrame({"film": ["A", "B"], "rating": [8.0, 5.5]})
    >>> data = HetData({"plot": plots}, {"director": links}, ratings, id_column="film")
    >>> data.n, data.labelled.tolist()
    (3, [True, True, False])
    >>> print(data.coverage().select("name", "instances"))  # doctest: +NORMALIZE_WHITESPACE
    shape: (2, 2)
    ┌──────────┬───────────┐
    │ name     ┆ instances │
    │ ---      ┆ ---       │
    │ str      ┆ i64       │
    ╞══════════╪═══════════╡
    │ plot     ┆ 3         │
    │ director ┆ 2         │
    └──────────┴───────────┘
    """

    def __init__(
        self,
        sources: Mapping[str, Any],
        graphs: Mapping[str, Any] | None = None,
        target: Any = None,
        id_column: str = "id",
        task: str | None = None,
        keep_graph_only: bool = True,
        kinds: Mapping[str, Mapping[str, str]] | None = None,
        spelling: Sequence[str] = (),
    ) -> None:
        ways, kinds = check_ways(spelling), {} if kinds is None else kinds
        # spelling first: ids that become the same must be found so by sources, graphs and labels alike
        own, own_graphs = read_sources(sources, id_column, kinds, ways), read_graphs(graphs, ways)
        labels = read_labels(target, id_column, task, ways)
        self.label_name = label_name(target, id_column)
        joined = joined_ids({name: source.id_series for name, source in own.items()}, labels[0])
        self._place(own, own_graphs, labels, joined, keep_graph_only=keep_graph_only)

    def _place(
        self,
        sources: dict[str, Source],
        own_graphs: Mapping[str, Graph],
        labels: Labels,
        joined: tuple[pl.Series, dict[str, NDArray], NDArray],
        *,
        keep_graph_only: bool,
    ) -> None:
        """Place graphs and labels over the ids of `joined`: the distinct ones, and each source's and label's place."""
        check_flags(keep_graph_only=keep_graph_only)
        self.steps: tuple[str, ...] = ()
        # ids of sources come first, then labels: their places do not hang on graphs
        known, self._row_positions, label_places = joined
        _, y, self.target_kind, label_notes = labels
        self.sources = sources
        self.id_series, self.graphs, graph_notes = place_graphs(own_graphs, known, keep_graph_only)
        self.y = placed_labels(y, label_places, self.n)
        # read-only: what-if data share it
        self.y.flags.writeable = False
        notes = own_findings(self.sources, own_graphs, label_notes) + graph_notes
        notes += self._alignment_findings() + near_findings(self.id_series, "id", "ids", "ids")
        notes += near_findings(pl.Series(self.classes, dtype=pl.String), "class", "classes", "target")
        self._notes = Report(notes)
        # now, and not when the report is read: a file of a scan may have changed by then
        _ = self._leaks

    @classmethod
    def scan(
        cls,
        sources: Mapping[str, Any],
        graphs: Mapping[str, Any] | None = None,
        target: Any = None,
        id_column: str = "id",
        *,
        task: str | None = None,
        keep_graph_only: bool = True,
        kinds: Mapping[str, Mapping[str, str]] | None = None,
        spelling: Sequence[str] = (),
        within: Any = None,
    ) -> HetData:
        """Return data whose tables stay in their Parquet files; columns are read when they are asked for.

        The same data as the constructor makes of the tables in these files, and models of the same bits; but an id that
        occurs twice in a source is refused rather than dropped. Read now are the ids, which are joined by hash in
        partitions on disk, and once or twice all columns, some at a time, for their kinds and the report. In memory
        remain `ids`, the place of each record, the graphs and the labels. docs/scale.md says what a training holds.

        Parameters
        ----------
        sources : mapping of str to path, table or Source
            A path names a Parquet file, a folder of such files (with folders `key=value` as columns; what is called
            ".…" or "_…" is left out, a link to a folder refused), or a pattern such as "part-*.parquet". A file that is
            written anew after the scan is refused when it is read. What is no path is taken as by the constructor.
        graphs : mapping of str to path or edge list, networkx graph, ..., optional
            As of the constructor; a table at a path is read whole.
        target : path, table (id, y) or tuple (ids, y), optional
            As of the constructor; a table at a path is read whole.
        id_column, task, keep_graph_only, kinds, spelling
            As of the constructor.
        within : path or sequence of paths, optional
            Folders below which all files must lie, links resolved; anywhere by default.

        Returns
        -------
        HetData
            `sources[name].frame` (m, d) reads a table whole each time; `sources[name].read(columns)` some columns.

        Raises
        ------
        DataError
            As of the constructor. Also if a path has no Parquet file, lies outside of `within`, a file can't be read,
            files of one source have other columns, or an id occurs twice in a source; the message names the file. And
            if `within` is empty, or no temporary folder holds the ids.

        Examples
        --------
        >>> import tempfile, pathlib
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     for year in ("2023", "2024"):
        ...         made = pl.DataFrame({"id": [f"a{year}", f"b{year}"], "x": [1.0, 2.0]})
        ...         made.write_parquet(pathlib.Path(folder) / f"{year}.parquet")
        ...     data = HetData.scan({"sales": folder}, target=(["a2023"], [1.0]))
        ...     data.n, data.sources["sales"].read(["x"]).shape
        (4, (4, 1))
        """
        data = object.__new__(cls)
        ways, allowed = check_ways(spelling), folders(within)
        own = read_sources(sources, id_column, {} if kinds is None else kinds, ways, within=allowed)
        own_graphs = read_graphs(graphs, ways, within=allowed)
        target = read_target_table(target, allowed)
        labels = read_labels(target, id_column, task, ways)
        data.label_name = label_name(target, id_column)
        joined = scanned_ids(own, labels[0], {} if kinds is None else kinds)
        data._place(own, own_graphs, labels, joined, keep_graph_only=keep_graph_only)
        return data

    @classmethod
    def of_parts(
        cls, id_series: pl.Series, sources: Mapping[str, Source], graphs: Mapping[str, Graph], **facts: Any
    ) -> HetData:
        """Return data of parts that are aligned already, such as those that were written: nothing is read or checked.

        Parameters
        ----------
        id_series : polars Series of String (n,)
        sources, graphs : mapping of str to Source, Graph
            The graphs over these ids.
        **facts
            y (n,), target_kind, label_name, report and steps: see the class.
        """
        data = object.__new__(cls)
        # without __init__, which would read and check what was checked before it was written
        data.id_series, data.sources, data.graphs = id_series, dict(sources), dict(graphs)
        data._row_positions = {name: positions(source.id_series, id_series) for name, source in sources.items()}
        for name in ("y", "target_kind", "label_name", "steps"):
            setattr(data, name, facts[name])
        data._notes = Report(each for each in facts["report"] if not each.kind.startswith(LEAK))
        data.y.flags.writeable = False
        return data

    @property
    def n(self) -> int:
        """Instances."""
        return len(self.id_series)

    @property
    def report(self) -> Report:
        """What was found in the data: what was dropped, merged or guessed, and columns that give the labels away."""
        # a what-if has leaks of its own, sought when they are asked for
        return Report(self._notes, lambda: self._leaks)

    @cached_property
    def _leaks(self) -> list[Finding]:
        return leak_findings(find_leaks(self))

    @cached_property
    def ids(self) -> NDArray[np.object_]:
        """The distinct ids, text, in the order of first appearance, (n,)."""
        return text_array(self.id_series)

    @cached_property
    def position(self) -> dict[str, int]:
        """The place of each id in `ids`."""
        return dict(zip(self.ids, range(self.n)))

    @property
    def source_names(self) -> list[str]:
        """Names of the sources, p."""
        return list(self.sources)

    @property
    def graph_names(self) -> list[str]:
        """Names of the graphs, q."""
        return list(self.graphs)

    def rows(self, name: str) -> NDArray[np.int64]:
        """Return the place in `ids` of each record of a source, (m,), distinct.

        Raises
        ------
        DataError
            If there is no such source.
        """
        self._require(name, self.sources, "source")
        return self._row_positions[name]

    @cached_property
    def mask(self) -> NDArray[np.bool_]:
        """Which source has a record of which instance, (p, n); not to be written to."""
        mask = np.zeros((len(self.sources), self.n), dtype=bool)
        for i, rows in enumerate(self._row_positions.values()):
            mask[i, rows] = True
        # cached and handed out: a caller that writes to it would change what all others see
        mask.flags.writeable = False
        return mask

    @cached_property
    def labelled(self) -> NDArray[np.bool_]:
        """Which instances have a label, (n,)."""
        return ~unlabelled(self.y)

    @cached_property
    def classes(self) -> list[str]:
        """The class labels, sorted; empty unless the target is a classification."""
        return sorted(set(self.y[self.labelled])) if self.target_kind == "classification" else []

    def _require(self, name: str, among: Mapping[str, Any], noun: str) -> None:
        if not (isinstance(name, str) and name in among):
            raise DataError(f"There is no {noun} {quoted(name)} among {listed(among)}: name one of them.")

    def _alignment_findings(self) -> list[Finding]:
        """Report sources and labels that share no instance with anything else, and sources without a label."""
        recorded = self.mask.any(axis=0)
        findings = label_findings(self.id_series, self.labelled, recorded)
        # a single part has nobody to share an instance with
        if len(self.sources) + len(self.graphs) == 1:
            return findings
        linked = np.any([graph.degree > 0 for graph in self.graphs.values()], axis=0)
        covered = self.mask.sum(axis=0) + linked + self.labelled
        return source_findings(self._row_positions, covered, self.labelled) + findings

    def _replaced(self, step: str, **changes: Any) -> HetData:
        """Return a copy with some attributes changed and `step` noted; nothing cached is carried over."""
        other = object.__new__(HetData)
        for name in ("id_series", "sources", "graphs", "_row_positions", "y", "target_kind", "label_name", "_notes"):
            setattr(other, name, changes.get(name, getattr(self, name)))
        # a new array of a what-if too
        other.y.flags.writeable = False
        other.steps = (*self.steps, step)
        return other


def check_het_data(data: Any, who: str) -> None:
    """Raise DataError, in the name of what takes it, if data is no HetData."""
    if not isinstance(data, HetData):
        kind = type(data).__name__
        raise DataError(f"{who} takes a HetData, not {kind}: build one from tables with hetcore.HetData.")
