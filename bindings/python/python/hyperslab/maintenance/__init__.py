"""Maintenance: files that several writers made are verified, fused and repacked, and the space of what was removed is given back."""
