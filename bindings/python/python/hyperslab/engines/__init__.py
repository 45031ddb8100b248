"""Engines of others over files: SQL by DuckDB, catalogs, Polars."""
