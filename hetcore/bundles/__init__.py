"""What stands alone: data as Parquet, a script, pinned requirements, model, report and wheel in one zip."""
