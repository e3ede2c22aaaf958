"""Algorithm 1 of the GBC paper, slowly, from the paper's text alone; equation numbers are the paper's.

Labels are in their own unit and L is the whole squared error, or the logistic loss of +1 and -1. Where a source or a
link is missing: sums go over what is there, and the weights in E, E~ and (4.6) are those of what is there, summing to
one.
"""

import numpy as np
from scipy.optimize import brentq


class Squared:
    """L-2 loss."""

    def value(self, f, y):
        return (f - y) ** 2

    def slope(self, f, y):
        return 2.0 * (f - y)


class Logistic:
    """Binary logistic loss."""

    def value(self, f, y):
        return np.log1p(np.exp(-y * f)) if -y * f < 700 else -y * f

    def slope(self, f, y):
        return -y * np.exp(-y * f) / (1.0 + np.exp(-y * f))


def regression_tree(X, z, depth, fewest):
    """Return a function of a row: CART by least squares; what is at most the lower neighbour of a cut goes left."""
    mean = sum(z) / len(z)
    if depth == 0:
        return lambda x: mean
    best, lowest = None, None
    total = ((z - z.mean()) ** 2).sum()
    for column in range(X.shape[1]):
        values = sorted(set(X[:, column]))
        for low in values[:-1]:
            left = X[:, column] <= low
            if min(left.sum(), (~left).sum()) < fewest:
                continue
            error = sum(((side - side.mean()) ** 2).sum() for side in (z[left], z[~left]))
            if lowest is None or error < lowest - 1e-10 * total:
                best, lowest = (column, low, left), error
    if best is None or lowest >= total * (1 - 1e-13):
        return lambda x: mean
    column, cut, left = best
    below = regression_tree(X[left], z[left], depth - 1, fewest)
    above = regression_tree(X[~left], z[~left], depth - 1, fewest)
    return lambda x: below(x) if x[column] <= cut else above(x)


def weights_of(losses):
    """Return exp(-loss / z) with the z at which they sum to one."""
    if len(losses) == 1:
        return [1.0]

    def excess(log_z):
        return sum(np.exp(-loss / np.exp(log_z)) for loss in losses) - 1.0

    z = np.exp(brentq(excess, np.log(min(losses)) - 20, np.log(max(losses)) + 20, xtol=1e-15, rtol=1e-15))
    return [float(np.exp(-loss / z)) for loss in losses]


def best_step(loss, f, h, terms):
    """Return the rho of least sum of weight * L(f + rho h, target) over terms (instance, weight, target)."""
    if isinstance(loss, Squared):
        above = sum(weight * (target - f[x]) * h[x] for x, weight, target in terms)
        return above / sum(weight * h[x] ** 2 for x, weight, target in terms)

    def slope(rho):
        return sum(weight * loss.slope(f[x] + rho * h[x], target) * h[x] for x, weight, target in terms)

    if slope(0.0) == 0.0:
        return 0.0
    far = -1.0 if slope(0.0) > 0 else 1.0
    while slope(far) * slope(0.0) > 0:
        far *= 2.0
    return brentq(slope, min(0.0, far), max(0.0, far), xtol=1e-15, rtol=1e-15)


class Algorithm1:
    """The algorithm's state: f[i][x], w[i], w_graph[g], E(x).

    `tables` is a list of {instance: row}, `graphs` a list of {instance: list of neighbours}, `labels` {instance: y}.
    """

    def __init__(self, tables, graphs, labels, loss, lambda0, lambda1, depth, fewest):
        self.tables, self.graphs, self.labels, self.loss = tables, graphs, labels, loss
        self.lambda0, self.lambda1, self.depth, self.fewest = lambda0, lambda1, depth, fewest
        y = np.array(list(labels.values()))
        share = (y > 0).mean()
        self.constant = y.mean() if isinstance(loss, Squared) else np.log(share / (1 - share))  # step 1
        self.f = [{x: float(self.constant) for x in table} for table in tables]
        self.w = [1.0 / len(tables)] * len(tables)  # step 2
        self.w_graph = [1.0 / len(graphs)] * len(graphs)

    def consensus(self, x):
        """E of (4.2), and the sum of (4.6)."""
        there = [i for i in range(len(self.tables)) if x in self.tables[i]]
        return sum(self.w[i] * self.f[i][x] for i in there) / sum(self.w[i] for i in there)

    def connected(self, i, x):
        """E~_i of (4.3), None without a neighbour."""
        found, mass = 0.0, 0.0
        for g, graph in enumerate(self.graphs):
            neighbours = [z for z in graph.get(x, []) if z in self.tables[i]]
            if neighbours:
                found += self.w_graph[g] / len(neighbours) * sum(self.f[i][z] for z in neighbours)
                mass += self.w_graph[g]
        return found / mass if mass else None

    def round(self):
        """Steps 4 to 10."""
        for i, table in enumerate(self.tables):
            terms, z = [], {}
            for x in table:
                f, two = self.f[i][x], 2.0 if isinstance(self.loss, Squared) else 1.0
                if x in self.labels:  # (4.5): 2 w_i (f - y), or w_i times the slope
                    y = self.labels[x]
                    terms.append((x, 1.0, y))
                    z[x] = -self.w[i] * self.loss.slope(f, y)
                    continue
                slope = 0.0
                if self.lambda0:
                    E = self.consensus(x)
                    terms.append((x, self.lambda0, E))
                    slope += self.w[i] * self.lambda0 * self.loss.slope(f, E)
                near = self.connected(i, x)
                if self.lambda1 and near is not None:
                    terms.append((x, self.lambda1, near))
                    displayed = self.loss.slope(f, near) / two  # no 2 w_i in the display of the L-2 loss
                    slope += self.lambda1 * (displayed if two == 2.0 else self.w[i] * displayed)
                if self.lambda0 or (self.lambda1 and near is not None):
                    z[x] = -slope
            rows = list(z)
            tree = regression_tree(
                np.array([table[x] for x in rows]), np.array([z[x] for x in rows]), self.depth, self.fewest
            )
            h = {x: tree(table[x]) for x in table}
            rho = best_step(self.loss, self.f[i], h, terms)  # (4.8)
            self.f[i] = {x: f + rho * h[x] for x, f in self.f[i].items()}  # (4.9)
        self.w = weights_of([self._source_loss(i) for i in range(len(self.tables))])  # (4.10)
        if self.graphs:
            self.w_graph = weights_of([self._graph_loss(g) for g in range(len(self.graphs))])  # (4.11)

    def _source_loss(self, i):
        return sum(self.loss.value(self.f[i][x], y) for x, y in self.labels.items() if x in self.tables[i])

    def _graph_loss(self, g):
        edges = [(a, b) for a, near in self.graphs[g].items() for b in near if a < b]
        total, c = 0.0, 0
        for a, b in edges:
            both = [i for i in range(len(self.tables)) if a in self.tables[i] and b in self.tables[i]]
            total += sum(self.w[i] * self.loss.value(self.f[i][a], self.f[i][b]) for i in both)
            c += bool(both)
        return total / c
