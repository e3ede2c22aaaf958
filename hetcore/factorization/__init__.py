"""Heteroscedastic factorization (Lee, Yang, Lin, Lin): HMF and HTF beside MF and PTF, and rivals."""
