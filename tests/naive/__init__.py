"""Slow, obvious NumPy twins of the kernels: the same names, arguments and results, no numba."""
