"""Heteroscedastic learning of tables (Lee, Yang, Lin, Lin): HLR and HGBM."""
