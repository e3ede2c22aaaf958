"""Heterogeneous data: sources, graphs and labels over one set of instances, checked once."""

from hetcore.data.graph import Graph
from hetcore.data.hetdata import HetData
from hetcore.data.report import Finding, Report
from hetcore.data.source import Source

__all__ = ["Finding", "Graph", "HetData", "Report", "Source"]
