"""How a consensus fit grows with instances, links and sources, and what its graph part costs beside reading the graphs.

    python -m benchmarks.speed.consensus_scale         # up to 80,000 made-up customers, 196 columns, up to 90 graphs
    python -m benchmarks.speed.consensus_scale full    # 500,000 customers, 90 graphs of 2.5 million links, 100 rounds
    python -m benchmarks.speed.consensus_scale graphs  # the graph part alone, of twelve such graphs

Each fit runs in a process of its own, so that its peak memory is its own; seconds are of the processor, one thread. A
round is the median of the rounds after the consensus is settled. The slope is that of log seconds over log size: 1 is
linear. The graph part is what `neighbor_sums` does, once a fit: each instance gets its neighbours' mean. A plain read
sums the indices and the weights of the same graphs, one after the other; a bare look-up gets one number of each link's
neighbour, which is what the machine's memory can do in that order.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time

import numpy as np

SETTLED = 4
"""Rounds until the consensus is settled."""
SIZES = {
    "instances": [(10_000, 90, 5.0), (20_000, 90, 5.0), (40_000, 90, 5.0), (80_000, 90, 5.0)],
    "links": [(40_000, 30, 2.5), (40_000, 30, 5.0), (40_000, 30, 10.0), (40_000, 30, 20.0)],
    "sources": [(40_000, 10, 5.0), (40_000, 30, 5.0), (40_000, 60, 5.0), (40_000, 90, 5.0)],
}
FULL = (500_000, 90, 5.0)


def measure(n: int, n_graphs: int, links: float, rounds: int) -> dict[str, float]:
    """Fit on made-up customers in this process; return seconds, memory in GiB and error."""
    import datasets
    import hetcore as hc

    data, truth = datasets.make_customers(n, n_graphs, links=links, seed=0)
    # Compiled on little data, or the first round would be that of the compiler.
    hc.GBCClassifier(n_iterations=2, random_state=0).fit(datasets.make_customers(500, 3, seed=0)[0])  # compiles
    stamps = [time.process_time()]
    model = hc.GBCClassifier(n_iterations=rounds, random_state=0)
    model.fit(data, callbacks=[lambda event: stamps.append(time.process_time())])
    each = np.diff(stamps)
    hidden = ~data.labelled
    error = float((model.predict(data)[hidden] != truth.y[hidden]).mean())
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    fit = {"fit": float(each.sum()), "first": float(each[:SETTLED].sum()), "round": float(np.median(each[SETTLED:]))}
    return fit | {"memory": memory, "error": error} | graph_part(data)


def graph_part(data: object) -> dict[str, float]:
    """Time what neighbours say over all graphs, and one plain read of them."""
    from hetcore.kernels.csr import neighbor_sums

    rng = np.random.default_rng(0)
    values, neighbor_weights = rng.standard_normal((data.n, 2)), np.ones(data.n)
    graphs = [graph for graph in data.graphs.values() if graph.indices.size]

    def listen() -> None:
        for graph in graphs:
            neighbor_sums(graph.indptr, graph.indices, graph.weights, values, neighbor_weights)

    def read() -> None:
        for graph in graphs:
            graph.indices.sum(), graph.weights.sum()

    def multiply() -> None:
        for graph in graphs:
            graph.adjacency() @ values

    def look_up() -> None:
        for graph in graphs:
            values[:, 0].take(graph.indices)

    listen()
    # The same graphs for all four, so that the ratios are of the work and not of the data.
    return {task.__name__: _seconds(task) for task in (listen, read, multiply, look_up)}


def _seconds(task: object, repeats: int = 5) -> float:
    found = []
    for _ in range(repeats):
        started = time.process_time()
        task()
        found.append(time.process_time() - started)
    return float(np.median(found))


def show_graph_part(n: int, n_graphs: int, links: float) -> None:
    """Print a row of the graph part alone."""
    import datasets

    data, _ = datasets.make_customers(n, n_graphs, n_columns=4, links=links, seed=0)
    ends = sum(graph.indices.size for graph in data.graphs.values())
    found = graph_part(data)
    nanoseconds = [f"{1e9 * found[part] / ends:.2f}" for part in ("read", "look_up", "multiply", "listen")]
    reads = [f"{found[part] / found['read']:.1f}" for part in ("look_up", "multiply", "listen")]
    print("| " + " | ".join([f"{n:,}", f"{n_graphs}", f"{ends:,}", *nanoseconds, *reads]) + " |", flush=True)


def apart(n: int, n_graphs: int, links: float, rounds: int) -> dict[str, float]:
    """Return `measure` of a process of its own."""
    size = [str(each) for each in (n, n_graphs, links, rounds)]
    # Peak memory is of a process's whole life, so each size has a process.
    command = [sys.executable, "-m", "benchmarks.speed.consensus_scale", "one", *size]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[-1])


def show(case: tuple[int, int, float], found: dict[str, float]) -> None:
    """Print a row."""
    n, n_graphs, links = case
    row = [f"{n:,}", f"{n_graphs}", f"{int(links * n):,}", f"{found['first']:.1f}", f"{found['round']:.2f}"]
    row += [f"{found['fit']:.0f}", f"{found['memory']:.2f}", f"{found['error']:.3f}", f"{found['listen']:.2f}"]
    row += [f"{found['listen'] / found['read']:.1f}", f"{found['listen'] / found['multiply']:.2f}"]
    print("| " + " | ".join(row) + " |", flush=True)


def head() -> None:
    """Print the table's head."""
    names = ["instances", "graphs", "links of each", "first 4 rounds, s", "a later round, s", "fit, s", "memory, GiB"]
    names += ["error", "graph part, s", "times a plain read", "times a product by scipy"]
    print("| " + " | ".join(names) + " |\n" + "|---" * len(names) + "|", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="?", default="slopes", choices=["slopes", "full", "graphs", "one"])
    parser.add_argument("size", nargs="*", type=float, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.what == "one":
        n, n_graphs, links, rounds = asked.size
        print(json.dumps(measure(int(n), int(n_graphs), links, int(rounds))))
    elif asked.what == "full":
        head()
        show(FULL, apart(*FULL, 100))
    elif asked.what == "graphs":
        names = [
            "instances",
            "graphs",
            "ends of links",
            "plain read, ns an end",
            "bare look-up",
            "product by scipy",
            "ours",
        ]
        names += [f"{part}, plain reads" for part in ("look-up", "scipy", "ours")]
        print("| " + " | ".join(names) + " |\n" + "|---" * len(names) + "|", flush=True)
        for n in (20_000, 100_000, FULL[0]):
            show_graph_part(n, 12, FULL[2])
    else:
        slopes()


def size_of(dimension: str, n: int, n_graphs: int, links: float) -> float:
    """Return the size of a case along one dimension."""
    return {"instances": n, "links": n * links, "sources": n_graphs + 1}[dimension]


def slopes() -> None:
    """Print a table a dimension, and the slopes."""
    slopes = []
    for dimension, cases in SIZES.items():
        head()
        found = [apart(*case, 16) for case in cases]
        for case, each in zip(cases, found):
            show(case, each)
        sizes = np.log([size_of(dimension, *case) for case in cases])
        # On logarithms a power of the size is a line, and its slope the power.
        steps = {part: np.polyfit(sizes, np.log([each[part] for each in found]), 1)[0] for part in ("fit", "round")}
        slopes.append(f"Slope over {dimension}: fit {steps['fit']:.2f}, a later round {steps['round']:.2f}.")
        print()
    print("\n".join(slopes))


if __name__ == "__main__":
    main()
