"""Stored runs: the store, comparing, reopening and exporting them."""
