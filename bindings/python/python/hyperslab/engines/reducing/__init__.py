"""Reducing: aggregates of SQL that are computed on arrays, before there are rows.

DuckDB parses a query, and says what it means: its own parser gives the tree, its own functions compute keys and conditions of
coordinates, and its own engine finishes the query over the groups. Only aggregates of values are computed by the core. A part of a
query that cannot be proved to be the same that way is left as it is.
"""
