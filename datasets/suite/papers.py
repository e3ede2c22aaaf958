"""Papers of the ACM digital library, as prepared for HeCo: words, common authors, common subject, three classes.

4,019 papers. The words are 0/1, cut to the 1,000 in most papers (`_reading.words`). Two papers are linked in
`shared_author` if they have an author in common. Each paper has one of 60 subjects; two million pairs share one, so
that `shared_subject` is a ring of 10 neighbours a paper (`_reading.ring_edges`, seed 201) in place of the cliques.
The words of authors are left out: they are the sums of their papers' words, those of papers to be predicted among
them.
"""

from __future__ import annotations

import numpy as np
import polars as pl
import scipy.sparse

from datasets.suite._problem import GRAPH, SuiteProblem
from datasets.suite._reading import classes, local, ring_edges, sparse_edges, words
from hetcore.data import HetData

__all__ = ["PROBLEMS"]

FOLDER = "data/acm"


def _local(name: str) -> object:
    return local("liun-online/HeCo", f"{FOLDER}/{name}")


def load() -> HetData:
    """Return the papers as HetData: 4,019 instances, 1 table of 1,000 words, 2 graphs, 3 classes."""
    labels = np.load(_local("labels.npy"), allow_pickle=False)
    ids = [f"paper-{row:04d}" for row in range(1, len(labels) + 1)]
    table = words(scipy.sparse.load_npz(_local("p_feat.npz"))).insert_column(0, pl.Series("id", ids))
    subjects = pl.read_csv(_local("ps.txt"), separator="\t", has_header=False, new_columns=["paper", "subject"])
    subject = subjects.sort("paper")["subject"].to_list()
    graphs = {
        "shared_author": sparse_edges(ids, scipy.sparse.load_npz(_local("pap.npz"))),
        "shared_subject": ring_edges(ids, subject, seed=201),
    }
    target = pl.DataFrame({"id": ids, "y": classes(labels, "class")})
    return HetData({"words": table}, graphs, target, id_column="id", task="classification")


PROBLEMS = (
    SuiteProblem(
        "heco_acm",
        "heco_acm",
        GRAPH,
        task="classification",
        half="choosing",
        load=load,
        story="4,019 papers: tell the field, one of three, from words, common authors and common subjects.",
    ),
)
