"""Backends: how a file was opened, which its objects hold."""
