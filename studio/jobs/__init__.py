"""Trainings in warm worker processes: submit, watch, pause, step, stop, fetch."""
