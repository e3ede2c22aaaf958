"""Kills, load, fuzzing, faults and random problems."""
