"""Comparing: what differs between two files, in structure, attributes and values."""
