"""Plotly figures from data, events and models, as plain dicts: they know of no user interface."""
