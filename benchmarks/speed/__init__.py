"""Seconds and bytes beside the peer that one would use, in one run."""
