"""Data by path: folders of Parquet tables that stay where they are, of which pages show a sample and statistics."""
