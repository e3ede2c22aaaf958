"""Heteroscedastic factorization (Lee, Yang, Lin, Lin): HMF and HTF beside MF and PTF, and rivals."""

METHODS = {"HMF": "hmf", "HTF": "hmf", "MatrixFactorization": "hmf", "TensorFactorization": "hmf"}
