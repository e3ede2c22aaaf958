"""Gradient boosting consensus as printed: Algorithm 1 of the paper, its tables' learners and its line search."""
