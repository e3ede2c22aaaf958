"""GraphML and GEXF, element by element, with document types, entities, deep nesting and huge attributes refused."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from typing import Any
from xml.etree.ElementTree import Element, ParseError  # the types only

import numpy as np
from defusedxml import DefusedXmlException
from defusedxml.ElementTree import iterparse

from hetcore.data.report import Finding
from hetcore.data.text import counted
from hetcore.errors import DataError
from studio.limits import UPLOADS
from studio.readers.graphs import directed, finished_graph, node_names
from studio.readers.parsed import ParsedGraph

__all__ = ["read_gexf", "read_graphml"]


def read_graphml(name: str, content: bytes, options: Mapping[str, Any]) -> ParsedGraph:
    """Read a GraphML graph.

    Raises
    ------
    DataError
        If it is no XML, has a document type, hyperedges or a second graph, or a node or edge lacks what it needs.
    """
    return _Reader(name, "graphml", "node", edge="edge", key="key", key_names=("id", "attr.name"), value="data").read(
        content, options
    )


def read_gexf(name: str, content: bytes, options: Mapping[str, Any]) -> ParsedGraph:
    """Read a GEXF graph.

    Raises
    ------
    DataError
        If it is no XML, has a document type or a second graph, or a node or edge lacks what it needs.
    """
    return _Reader(
        name, "gexf", "node", edge="edge", key="attribute", key_names=("id", "title"), value="attvalue"
    ).read(content, options)


class _Reader:
    """Both formats are nodes and edges with values that refer to declared keys; only the words differ.

    Parameters
    ----------
    name : str
        The file's name, for sentences.
    root, node, edge, key, value : str
        Names of the elements.
    key_names : (str, str)
        Attributes of a key: what values refer to, and what it is called.
    """

    def __init__(
        self, name: str, root: str, node: str, edge: str, key: str, key_names: tuple[str, str], value: str
    ) -> None:
        self._name, self._root = name, root
        self._node, self._edge, self._key, self._value = node, edge, key, value
        self._key_names = key_names
        self._keys: dict[str, str] = {}
        self._ids: list[str] = []
        self._attributes: list[dict[str, str]] = []
        self._edges: list[tuple[str, str, str | None]] = []
        self._values: dict[str, str] = {}
        self._default: str | None = None
        self._defaults: dict[str, dict[str, str]] = {node: {}, edge: {}}
        self._graphs = self._ports = 0
        self._directed = False

    def read(self, content: bytes, options: Mapping[str, Any]) -> ParsedGraph:
        # Before the parser begins: it goes over an unfinished token anew with each piece that it reads.
        _refuse_huge_tokens(self._name, content)
        for tag, element in _elements(self._name, content, self._root):
            self._take(tag, element)
        names, guesses = node_names(
            self._ids, [node.get("label") for node in self._attributes], options.get("nodes_by"), False
        )
        renamed = dict(zip(self._ids, names))
        edges = [(renamed.get(a, a), renamed.get(b, b), weight) for a, b, weight in self._edges]
        # Names by label would hide that two nodes have one id.
        names = names if len(set(self._ids)) == len(self._ids) else self._ids  # which finished_graph refuses
        guesses = [{"graphml": "GraphML", "gexf": "GEXF"}[self._root], *guesses]
        return finished_graph(
            self._name, names, self._attributes, edges=edges, guesses=guesses, findings=self._findings()
        )

    def _take(self, tag: str, element: Element) -> None:
        if tag == self._key:
            self._take_key(element)
        elif tag == "default":
            self._default = (element.text or "").strip()
        elif tag == self._value:
            self._take_value(element)
        elif tag == self._node:
            self._take_node(element)
        elif tag == self._edge:
            self._take_edge(element)
        elif tag == "hyperedge":
            raise DataError(f"{self._name} holds hyperedges: write each as edges between two nodes.")
        elif tag == "graph":
            self._graphs += 1
            self._directed = "directed" in (element.get("edgedefault"), element.get("defaultedgetype"))

    def _take_key(self, element: Element) -> None:
        """Note what a key is called, and what a node or edge has that does not say."""
        # GEXF calls it title and GraphML attr.name; where neither is given the id is all there is.
        name = element.get(self._key_names[1]) or element.get("id", "")
        # The first declaration counts: a second of the same id would rename what was read before.
        self._keys.setdefault(element.get(self._key_names[0], ""), name)
        if self._default and self._root == "graphml":
            of = element.get("for") or "all"
            for which, defaults in self._defaults.items():
                if of in (which, "all"):
                    defaults[name] = self._default
        self._default = None

    def _take_value(self, element: Element) -> None:
        key = element.get("key") or element.get("for") or ""
        text = element.get("value") if self._root == "gexf" else element.text
        if text is not None:
            # Values stand inside their node or edge and end before it, so that they wait for it here.
            self._values[self._keys.get(key, key)] = text.strip()

    def _take_node(self, element: Element) -> None:
        identifier = element.get("id")
        if not identifier:
            raise DataError(f"{self._name}: node {len(self._ids) + 1:,} has no id: give every node one.")
        label = {"label": element.get("label")} if element.get("label") else {}
        self._ids.append(identifier)
        # Later ones win: what a node says itself counts more than a default.
        self._attributes.append({**self._defaults[self._node], **label, **self._values})
        self._values = {}

    def _take_edge(self, element: Element) -> None:
        ends = element.get("source"), element.get("target")
        if not all(ends):
            raise DataError(f"{self._name}: edge {len(self._edges) + 1:,} lacks its source or target: give both.")
        values = {**self._defaults[self._edge], **self._values}
        # Gephi writes Weight as an attribute, others as a value.
        weight = element.get("weight") or next((values[k] for k in ("weight", "Weight") if k in values), None)
        self._edges.append((*ends, weight))
        # Ports are places on a drawn node; edges with them are edges still.
        self._ports += bool(element.get("sourceport") or element.get("targetport"))
        self._values = {}

    def _findings(self) -> list[Finding]:
        if self._graphs > 1:
            raise DataError(f"{self._name} holds {self._graphs:,} graphs: save each in a file of its own.")
        ports = f"{counted(self._ports, 'edge')} with ports, which are not used"
        found = [Finding("ports", "", self._ports, ports)] if self._ports else []
        return found + (directed(len(self._edges)) if self._directed else [])


def _elements(name: str, content: bytes, root: str) -> Iterator[tuple[str, Element]]:
    """Yield each element as it ends, without its namespace, and forget it."""
    path: list[Element] = []
    try:
        # forbid_dtd, for entities are declared there, and some that refer to one another grow without bound.
        for event, element in iterparse(io.BytesIO(content), events=("start", "end"), forbid_dtd=True):
            if event == "start":
                path.append(element)
                _check_start(name, path, root)
                continue
            yield _bare(element), element
            path.pop()
            # Forgotten at once, or the tree of a large file would be in memory as well as what is read of it.
            element.clear()
            if path:
                path[-1].remove(element)
    except DefusedXmlException:
        raise DataError(
            f"{name} has a document type or entities, which are refused: export it without a DTD."
        ) from None
    except (ParseError, ValueError, LookupError) as error:
        raise _no_xml(name, error) from None


def _no_xml(name: str, error: Exception) -> DataError:
    if isinstance(error, DataError):
        return error
    line = f" (line {error.position[0]:,})" if isinstance(error, ParseError) else ""
    return DataError(f"{name} is no valid XML{line}: it is cut off or damaged; export the graph anew.")


def _check_start(name: str, path: list[Element], root: str) -> None:
    if len(path) > UPLOADS.nesting:
        raise DataError(f"{name} is nested more than {UPLOADS.nesting} deep: export it as an edge list.")
    if len(path) == 1 and _bare(path[0]) != root:
        raise DataError(f"{name} is no {root.upper()} file: export the graph as GraphML, GEXF or CSV.")


def _bare(element: Element) -> str:
    # Namespaces differ between versions and programs.
    return str(element.tag).rpartition("}")[2]


def _refuse_huge_tokens(name: str, content: bytes) -> None:
    """Refuse a tag or text that the XML parser would take minutes over."""
    starts = np.flatnonzero(np.frombuffer(content, dtype=np.uint8) == ord("<"))
    longest = int(np.diff(np.concatenate([[0], starts, [len(content)]])).max())
    if longest > UPLOADS.xml_token_bytes:
        raise DataError(
            f"{name} has a tag or text of {longest / 1024:,.0f} KB, "
            f"more than {UPLOADS.xml_token_bytes // 1024} KB: shorten it."
        )
