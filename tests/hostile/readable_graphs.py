"""Odd graphs that are read: every edge is used or reported, and what was found is told."""

from __future__ import annotations

from tests.hostile.graphs import NODES
from tests.hostile.making import RIGHT, SCRIPT, Case, gexf, graphml, rows


def graph(label: str, name: str, content: bytes, edges: int, *finds: str) -> Case:
    return Case(label, name, lambda: content, answer="", want="graph", rows=edges, finds=finds)


def edges(*lines: str) -> bytes:
    return rows("source,target,weight", *lines)


GRAPHS = [
    graph("self-loops", "g.csv", edges("a,a,1", "a,b,1"), 2, "self_loop"),
    graph("only self-loops", "g.csv", edges("a,a,1", "b,b,1"), 2, "self_loop", "no_edge"),
    graph("repeated edges of other weights", "g.csv", edges("a,b,1", "a,b,5", "b,c,1"), 3, "repeated_edge"),
    graph("both directions", "g.csv", edges("a,b,1", "b,a,2"), 2, "both_directions"),
    graph("negative weights", "g.csv", edges("a,b,-1", "b,c,2"), 2, "bad_weight"),
    graph("zero weights", "g.csv", edges("a,b,0", "b,c,2"), 2, "zero_weight"),
    graph("NaN weights", "g.csv", edges("a,b,nan", "b,c,2"), 2, "bad_weight"),
    graph("infinite weights", "g.csv", edges("a,b,inf", "b,c,1e400", "c,d,1"), 3, "bad_weight"),
    graph("missing weights", "g.csv", edges("a,b,", "b,c,2"), 2, "bad_weight"),
    graph("weights of 1e308", "g.csv", edges("a,b,1e308", "b,c,1e-320"), 2),
    graph("missing ends", "g.csv", edges(",b,1", "a,,1", "a,b,1"), 3, "missing_end"),
    graph("a giant star", "g.csv", edges(*(f"hub,leaf{k},1" for k in range(50_000))), 50_000),
    graph("zeros before ids", "g.csv", rows("source,target", "001,1", "1,01"), 2),
    graph("script in names", "g.csv", edges(f"{SCRIPT},b,1", f"b,{RIGHT},1"), 2),
    graph(
        "columns that are no use",
        "g.csv",
        rows("source,target,weight,since", "a,b,1,2020", "b,c,1,2021"),
        2,
        "unused_column",
    ),
    graph("edges of records", "g.json", b'[{"source": "a", "target": 1}, {"source": 1, "target": 1}]', 2, "self_loop"),
    graph("graphml, ends unknown", "g.graphml", graphml(f"{NODES}<edge source='a' target='z'/>"), 1, "unknown_node"),
    graph(
        "graphml, directed",
        "g.graphml",
        graphml(f"{NODES}<edge source='a' target='b'/>").replace(b"undirected", b"directed"),
        1,
        "directed",
    ),
    graph("graphml, no edge", "g.graphml", graphml(NODES), 0, "no_edge"),
    graph(
        "graphml, mixed attributes",
        "g.graphml",
        graphml(
            "<node id='a'><data key='d'>1</data></node><node id='b'><data key='d'>x</data></node>"
            "<edge source='a' target='b'/>"
        ),
        1,
    ),
    graph("graphml, ports", "g.graphml", graphml(f"{NODES}<edge source='a' sourceport='n' target='b'/>"), 1, "ports"),
    graph(
        "graphml, some weights missing",
        "g.graphml",
        graphml(f"{NODES}<edge source='a' target='b'><data key='weight'>2</data></edge><edge source='b' target='c'/>"),
        2,
        "missing_weight",
        "unknown_node",
    ),
    graph(
        "graphml, weights of all kinds",
        "g.graphml",
        graphml(
            NODES
            + "".join(
                f"<edge source='a' target='{k}'><data key='weight'>{w}</data></edge>"
                for k, w in enumerate(["nan", "inf", "-1", "0", "1"])
            )
        ),
        5,
        "bad_weight",
        "zero_weight",
    ),
    graph(
        "graphml without a namespace",
        "g.graphml",
        b"<graphml><graph><node id='a'/><node id='b'/><edge source='a' target='b'/></graph></graphml>",
        1,
    ),
    graph(
        "gexf, directed",
        "g.gexf",
        gexf(f"<nodes>{NODES}</nodes><edges><edge source='a' target='b'/></edges>").replace(
            b"<graph>", b"<graph defaultedgetype='directed'>"
        ),
        1,
        "directed",
    ),
    graph("gexf, no edge", "g.gexf", gexf(f"<nodes>{NODES}</nodes>"), 0, "no_edge"),
    graph(
        "gexf, ends unknown", "g.gexf", gexf("<nodes/><edges><edge source='a' target='b'/></edges>"), 1, "unknown_node"
    ),
    graph("gml, no edge", "g.gml", b"graph [ node [ id 1 ] ]", 0, "no_edge"),
    graph(
        "gml, directed",
        "g.gml",
        b"graph [ directed 1 node [ id 1 ] node [ id 2 ] edge [ source 1 target 2 ] ]",
        1,
        "directed",
    ),
    graph(
        "gml, script in labels",
        "g.gml",
        b'graph [ node [ id 1 label "&lt;script&gt;" ] node [ id 2 label "b" ] edge [ source 1 target 2 ] ]',
        1,
    ),
    graph(
        "gml, the same label",
        "g.gml",
        b'graph [ node [ id 1 label "a" ] node [ id 2 label "a" ] edge [ source 1 target 2 ] ]',
        1,
    ),
    graph(
        "gml, some weights missing",
        "g.gml",
        b"graph [ node [ id 1 ] node [ id 2 ] edge [ source 1 target 2 weight 3 ] edge [ source 2 target 1 ] ]",
        2,
        "missing_weight",
        "both_directions",
    ),
    graph(
        "node-link, directed",
        "g.json",
        b'{"directed": true, "nodes": ["a", "b"], "links": [{"source": "a", "target": "b"}]}',
        1,
        "directed",
    ),
    graph(
        "node-link, ids of both types",
        "g.json",
        b'{"nodes": [{"id": 1}, {"id": "01"}], "edges": [{"source": 1, "target": "01"}]}',
        1,
    ),
    graph(
        "node-link, NaN weight",
        "g.json",
        b'{"nodes": [{"id": 1}, {"id": 2}], "edges": [{"source": 1, "target": 2, "weight": NaN}]}',
        1,
        "bad_weight",
    ),
    graph("node-link, no edge", "g.json", b'{"nodes": [{"id": "a"}], "links": []}', 0, "no_edge"),
    graph(
        "matrix, general",
        "g.mtx",
        b"%%MatrixMarket matrix coordinate real general\n3 3 2\n1 2 1\n3 3 1\n",
        2,
        "self_loop",
        "directed",
    ),
    graph(
        "matrix, negative and NaN",
        "g.mtx",
        b"%%MatrixMarket matrix coordinate real symmetric\n3 3 3\n2 1 -1\n3 1 nan\n3 2 inf\n",
        3,
        "bad_weight",
        "no_edge",
    ),
    graph("matrix, no entry", "g.mtx", b"%%MatrixMarket matrix coordinate pattern symmetric\n3 3 0\n", 0, "no_edge"),
]
