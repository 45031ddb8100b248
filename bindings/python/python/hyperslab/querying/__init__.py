"""Queries: elements found by conditions, with an index or without, and what is counted of them."""
