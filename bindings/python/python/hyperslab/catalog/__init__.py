"""Catalog: what many files hold, a row for each array, as a Parquet file."""
