"""A graph convolutional network of two layers, where PyTorch is installed.

Z = S~ dropout(relu(S~ dropout(X) W_0)) W_1, S~ = D^-1/2 (A + I) D^-1/2 over all graphs together; cross-entropy, or the
squared error of standardised numbers, over the labelled rows; Adam at 0.01 with weight decay 5e-4, 200 steps, dropout
0.5, 64 hidden units. Reference: T. Kipf, M. Welling, "Semi-supervised classification with graph convolutional
networks", ICLR 2017.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from hetcore.baselines.encoded import Encoded, symmetric_operator
from hetcore.baselines.labels import Labels, TransductivePeer
from hetcore.multimodal import deep
from hetcore.parameters import Whole, param

__all__ = ["GraphConvolutionalNetwork"]


class GraphConvolutionalNetwork(TransductivePeer):
    """Two-layer GCN on the joined table and all graphs."""

    needs_graph = True
    hidden: int = param(64, Whole(1), "Hidden units.")
    n_steps: int = param(200, Whole(1), "Steps of Adam on all rows.")
    random_state: int = param(0, Whole(0), "Seed.")

    def _scores(self, encoded: Encoded, labels: Labels) -> NDArray[np.float64]:
        with deep.seeded(self.random_state) as torch:
            operator = _as_tensor(torch, symmetric_operator(encoded.links, loops=1.0))
            # the first layer multiplies all of it in any case
            X = encoded.linear.toarray() if scipy.sparse.issparse(encoded.linear) else encoded.linear
            X = torch.from_numpy(X.astype(np.float32))
            target, mean, deviation = _target(torch, labels)
            first = torch.nn.Linear(X.shape[1], self.hidden)
            second = torch.nn.Linear(self.hidden, max(labels.n_classes, 1))

            def forward(training: bool) -> Any:
                drop = lambda values: torch.nn.functional.dropout(values, 0.5, training)  # noqa: E731
                return operator @ second(drop(torch.relu(operator @ first(drop(X)))))

            self._train(torch, forward, [*first.parameters(), *second.parameters()], labels, target)
            with torch.no_grad():
                raw = forward(False)
            if labels.n_classes:
                return torch.softmax(raw, dim=1).double().numpy()
            return mean + deviation * raw[:, 0].double().numpy()

    def _train(self, torch: Any, forward: Any, weights: list[Any], labels: Labels, target: Any) -> None:
        loss = torch.nn.functional.cross_entropy if labels.n_classes else torch.nn.functional.mse_loss
        optimizer = torch.optim.Adam(weights, lr=0.01, weight_decay=5e-4)
        rows = torch.from_numpy(labels.rows)
        for _ in range(self.n_steps):
            optimizer.zero_grad()
            raw = forward(True)[rows]
            loss(raw if labels.n_classes else raw[:, 0], target).backward()
            optimizer.step()


def _target(torch: Any, labels: Labels) -> tuple[Any, float, float]:
    if labels.n_classes:
        return torch.from_numpy(labels.target.astype(np.int64)), 0.0, 1.0
    mean, deviation = float(labels.target.mean()), float(labels.target.std())
    # standardised, so that one learning rate serves all targets
    return torch.from_numpy(((labels.target - mean) / deviation).astype(np.float32)), mean, deviation


def _as_tensor(torch: Any, matrix: scipy.sparse.csr_array) -> Any:
    coordinates = matrix.tocoo()
    places = torch.from_numpy(np.vstack(coordinates.coords).astype(np.int64))
    values = torch.from_numpy(coordinates.data.astype(np.float32))
    # unchecked: coordinates of a matrix of ours
    return torch.sparse_coo_tensor(places, values, matrix.shape, check_invariants=False).coalesce()
