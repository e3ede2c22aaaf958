"""Uploaded files to tables, graphs and images: read in a sandbox, with limits."""
