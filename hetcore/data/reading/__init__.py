"""How what a person gives becomes sources, graphs and labels: tables in memory, and Parquet files by their path."""
