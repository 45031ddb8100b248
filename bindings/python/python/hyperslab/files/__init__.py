"""Files: open files, sets of them, and what they mean in data models."""
