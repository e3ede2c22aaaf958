"""Graphs that must be refused."""

from __future__ import annotations

import numpy as np

from tests.hostile.making import Case, gexf, graphml, laughs

NODES = "<node id='a'/><node id='b'/>"
_GRAPHS = [
    Case("empty", "g.graphml", lambda: b"", "is empty"),
    Case("pdf", "g.graphml", lambda: b"%PDF-1.4", "is a PDF document, not a graph"),
    Case("laughs", "g.graphml", lambda: graphml(f"<node id='&a8;'/>{NODES}", laughs()), "document type or entities"),
    Case("gexf laughs", "g.gexf", lambda: gexf("<nodes/>", laughs()), "document type or entities"),
    Case(
        "external entity",
        "g.graphml",
        lambda: graphml("<node id='&x;'/>", '<!DOCTYPE g [<!ENTITY x SYSTEM "file:///etc/passwd">]>'),
        "document type or entities",
    ),
    Case("bare doctype", "g.gexf", lambda: gexf("<nodes/>", "<!DOCTYPE gexf>"), "document type or entities"),
    Case(
        "utf-16 doctype",
        "g.graphml",
        lambda: (
            graphml(NODES, laughs(3))
            .decode()
            .replace('version="1.0"', 'version="1.0" encoding="utf-16"')
            .encode("utf-16")
        ),
        "document type or entities",
    ),
    Case("deep", "g.graphml", lambda: graphml("<node id='a'><graph>" * 100_000), "nested more than 64 deep"),
    Case("huge attribute", "g.graphml", lambda: graphml(f"<node id='{'a' * 9_000_000}'/>"), "tag or text of 8,789 KB"),
    Case("cut off", "g.graphml", lambda: graphml(NODES)[:-20], "no valid XML .line 1"),
    Case("another root", "g.graphml", lambda: b"<svg><path/></svg>", "no GRAPHML file"),
    Case("other xml", "g.xml", lambda: b"<svg><path/></svg>", "XML file of another kind"),
    Case("same node", "g.graphml", lambda: graphml("<node id='a'/><node id='a'/>"), "node 'a' twice"),
    Case("node without id", "g.graphml", lambda: graphml("<node/>"), "node 1 has no id"),
    Case("edge without end", "g.graphml", lambda: graphml(f"{NODES}<edge source='a'/>"), "edge 1 lacks"),
    Case("hyperedge", "g.graphml", lambda: graphml(f"{NODES}<hyperedge/>"), "hyperedges"),
    Case("two graphs", "g.graphml", lambda: graphml(f"{NODES}</graph><graph>"), "2 graphs"),
    Case(
        "text weight",
        "g.graphml",
        lambda: graphml(
            f"{NODES}<edge source='a' target='b'><data key='w'>heavy</data></edge>",
            header="<key id='w' for='edge' attr.name='weight'/>",
        ),
        "weight 'heavy' of edge 1 is no number",
    ),
    Case("deep gml", "g.gml", lambda: b"graph [ " * 100_000, "nested more than 64 deep"),
    Case("gml cut off", "g.gml", lambda: b"graph [ node [ id 1 ", "ends in the middle"),
    Case("gml bracket", "g.gml", lambda: b"graph [ ] ]", "no valid GML .line 1"),
    Case("gml value", "g.gml", lambda: b"graph [\n node [ id [ ] ] ]", "node 1 has no id"),
    Case("gml junk", "g.gml", lambda: b"graph [\n node $ ]", "no valid GML .line 2"),
    Case("gml without graph", "g.gml", lambda: b"nothing 1", "holds no .graph"),
    Case("gml end", "g.gml", lambda: b"graph [ node [ id 1 ] edge [ source 1 ] ]", "edge 1 has no target"),
    Case("node-link without links", "g.json", lambda: b'{"nodes": []}', "lacks the lists"),
    Case("node-link without id", "g.json", lambda: b'{"nodes": [{}], "links": []}', "node 1 has no id"),
    Case("node-link list id", "g.json", lambda: b'{"nodes": [{"id": [1]}], "links": []}', "node 1 has no id"),
    Case("node-link end", "g.json", lambda: b'{"nodes": [{"id": "a"}], "links": [{"source": "a"}]}', "link 1 lacks"),
    Case(
        "node-link number",
        "g.json",
        lambda: b'{"nodes": ["a"], "links": [{"source": 0, "target": 7}]}',
        "has the end 7",
    ),
    Case("node-link text", "g.json", lambda: b'{"nodes": "a", "links": "b"}', "lacks the lists"),
    Case("deep node-link", "g.json", lambda: b'{"nodes":' * 100_000 + b"1" + b"}" * 100_000, "nested too deeply"),
    Case(
        "matrix lie",
        "g.mtx",
        lambda: b"%%MatrixMarket matrix coordinate real general\n9 9 5\n1 2 3\n",
        "announces 5 entries",
    ),
    Case(
        "matrix billions",
        "g.mtx",
        lambda: b"%%MatrixMarket matrix coordinate real general\n100 100 1000000000\n1 2 3\n",
        "1,000,000,000 entries",
    ),
    Case(
        "matrix giant",
        "g.mtx",
        lambda: b"%%MatrixMarket matrix coordinate real general\n4000000000 4000000000 1\n1 2 3\n",
        "4,000,000,000 nodes",
    ),
    Case(
        "matrix dense",
        "g.mtx",
        lambda: b"%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n",
        "array real general",
    ),
    Case("matrix oblong", "g.mtx", lambda: b"%%MatrixMarket matrix coordinate real general\n2 3 1\n1 2 3\n", "2 x 3"),
    Case(
        "matrix outside",
        "g.mtx",
        lambda: b"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 3 3\n",
        "entry 1 is outside",
    ),
    Case(
        "matrix words",
        "g.mtx",
        lambda: b"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 x 3\n",
        "other than numbers",
    ),
    Case("matrix header", "g.mtx", lambda: b"1 2 3\n", "MatrixMarket header line"),
    Case(
        "matrix size", "g.mtx", lambda: b"%%MatrixMarket matrix coordinate real general\n% only this\n", "no size line"
    ),
    Case("edge weight", "g.csv", lambda: b"source,target,weight\na,b,1\nb,c,much\n", "weight 'much' of edge 2"),
    Case("one end", "g.csv", lambda: b"source\na\nb\n", "a source and a target column are needed"),
    Case("too many edges", "g.csv", lambda: b"source,target\n" + b"a,b\n" * 5_000_001, "5,000,001 edges"),
    Case("random", "g.gml", lambda: np.random.default_rng(1).bytes(5000), "NUL byte|no text"),
    Case("two graphs in gml", "g.gml", lambda: b"graph [ node [ id 1 ] ]\ngraph [ node [ id 2 ] ]", "2 graphs"),
    Case("gml same node", "g.gml", lambda: b"graph [ node [ id 1 ] node [ id 1 ] ]", "node '1' twice"),
    Case(
        "gml weight", "g.gml", lambda: b'graph [ edge [ source 1 target 2 weight "much" ] ]', "weight 'much' of edge 1"
    ),
    Case("gml quote", "g.gml", lambda: b'graph [ node [ id 1 label "open ] ]', "no valid GML|ends in the middle"),
    Case(
        "gml long text",
        "g.gml",
        lambda: b'graph [ node [ id 1 label "' + b"a" * (17 * 2**20) + b'" ] ]',
        "a line of 17 MB",
    ),
    Case("gml of comments", "g.gml", lambda: b"graph " + b"#" * 50_000, "no valid GML|ends in the middle"),
    Case("gml control characters", "g.gml", lambda: b"graph [ node [ id \x01 ] ]", "no valid GML"),
    Case("gexf same node", "g.gexf", lambda: gexf("<nodes><node id='a'/><node id='a'/></nodes>"), "node 'a' twice"),
    Case("gexf deep", "g.gexf", lambda: gexf("<nodes><node id='a'>" * 50_000), "nested more than 64 deep"),
    Case(
        "gexf edge",
        "g.gexf",
        lambda: gexf("<nodes><node id='a'/></nodes><edges><edge target='a'/></edges>"),
        "edge 1 lacks",
    ),
    Case(
        "gexf weight",
        "g.gexf",
        lambda: gexf("<nodes/><edges><edge source='a' target='b' weight='x'/></edges>"),
        "weight 'x' of edge 1",
    ),
    Case("gexf cut off", "g.gexf", lambda: gexf("<nodes/>")[:-10], "no valid XML"),
    Case("gexf named graphml", "g.graphml", lambda: b"<gexp/>", "no GRAPHML file"),
    Case(
        "xml of 200,000 attributes",
        "g.graphml",
        lambda: graphml(f"<node {' '.join(f'a{k}=0' for k in range(200_000))}/>"),
        "KB, more than",
    ),
    Case(
        "xml bad encoding", "g.graphml", lambda: b"<?xml version='1.0' encoding='klingon'?><graphml/>", "no valid XML"
    ),
    Case(
        "xml encoding lie",
        "g.graphml",
        lambda: b"<?xml version='1.0' encoding='utf-8'?><graphml>\xff\xfe</graphml>",
        "no valid XML",
    ),
    Case("xml character reference", "g.graphml", lambda: graphml("<node id='&#0;'/>"), "no valid XML"),
    Case("xinclude", "g.graphml", lambda: graphml("<xi:include href='file:///etc/passwd'/>"), "no valid XML"),
    Case(
        "parameter entity",
        "g.gexf",
        lambda: gexf("<nodes/>", '<!DOCTYPE g [<!ENTITY % x SYSTEM "http://localhost/x">%x;]>'),
        "document type",
    ),
    Case(
        "quadratic entity",
        "g.graphml",
        lambda: graphml("<node id='a'/>" + "&a;" * 10_000, f'<!DOCTYPE g [<!ENTITY a "{"a" * 50_000}">]>'),
        "document type|KB, more than",
    ),
    Case("node-link of a list", "g.json", lambda: b"[[1, 2]]", "record 1 is no object"),
    Case("node-link same node", "g.json", lambda: b'{"nodes": [{"id": 1}, {"id": 1}], "links": []}', "node '1' twice"),
    Case(
        "node-link null end",
        "g.json",
        lambda: b'{"nodes": [{"id": 1}], "links": [{"source": null, "target": 1}]}',
        "link 1 lacks",
    ),
    Case(
        "node-link weight",
        "g.json",
        lambda: b'{"nodes": [{"id": 1}], "links": [{"source": 1, "target": 1, "weight": "x"}]}',
        "weight 'x' of edge 1",
    ),
    Case(
        "node-link weight list",
        "g.json",
        lambda: b'{"nodes": [{"id": 1}], "links": [{"source": 1, "target": 1, "weight": [1]}]}',
        "weight .* of edge 1",
    ),
    Case(
        "node-link negative number",
        "g.json",
        lambda: b'{"nodes": ["a"], "links": [{"source": 0, "target": -1}]}',
        "has the end -1",
    ),
    Case(
        "node-link surrogate", "g.json", lambda: b'{"nodes": [{"id": "\\ud800"}], "links": []}', "half a surrogate pair"
    ),
    Case(
        "node-link surrogate end",
        "g.json",
        lambda: b'{"nodes": [{"id": "a"}], "links": [{"source": "\\udfff", "target": "a"}]}',
        "half a surrogate pair",
    ),
    Case(
        "node-link surrogate value",
        "g.json",
        lambda: b'{"nodes": [{"id": "a", "c": "\\ud800"}], "links": []}',
        "half a surrogate pair",
    ),
    Case(
        "node-link long number",
        "g.json",
        lambda: b'{"nodes": ["a"], "links": [{"source": 0, "target": ' + b"9" * 5000 + b"}]}",
        "has the end",
    ),
    Case(
        "matrix complex",
        "g.mtx",
        lambda: b"%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 0\n",
        "complex general",
    ),
    Case(
        "matrix fraction",
        "g.mtx",
        lambda: b"%%MatrixMarket matrix coordinate real general\n2 2 1\n1.5 2 1\n",
        "entry 1 is outside",
    ),
    Case(
        "matrix nan index",
        "g.mtx",
        lambda: b"%%MatrixMarket matrix coordinate real general\n2 2 1\nnan 2 1\n",
        "entry 1 is outside",
    ),
    Case(
        "matrix nan size", "g.mtx", lambda: b"%%MatrixMarket matrix coordinate real general\nnan nan 0\n", "nan x nan"
    ),
    Case(
        "matrix inf size",
        "g.mtx",
        lambda: b"%%MatrixMarket matrix coordinate real general\ninf inf 0\n",
        "inf x inf|nodes",
    ),
    Case(
        "matrix nan count",
        "g.mtx",
        lambda: b"%%MatrixMarket matrix coordinate real general\n2 2 nan\n",
        "announces nan entries",
    ),
    Case(
        "matrix half entry",
        "g.mtx",
        lambda: b"%%MatrixMarket matrix coordinate real general\n2 2 1.5\n1 2\n",
        "entries",
    ),
    Case(
        "matrix negative count",
        "g.mtx",
        lambda: b"%%MatrixMarket matrix coordinate real general\n2 2 -1\n",
        "announces -1 entries",
    ),
    Case(
        "matrix vector",
        "g.mtx",
        lambda: b"%%MatrixMarket vector coordinate real general\n2 1\n1 1\n",
        "MatrixMarket header line",
    ),
    Case("edge ends missing column", "g.csv", lambda: b"a\nb\n", "source and a target"),
    Case("edge list ragged", "g.txt", lambda: b"a b 1\na b\nb c 2\na c 3\n", "cells in row"),
    Case("edge list nul", "g.txt", lambda: b"a b\n\x00 c\n", "NUL byte in line 2"),
]
REFUSED = [case._replace(want="graph") for case in _GRAPHS]
