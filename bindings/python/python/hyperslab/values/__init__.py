"""Values: numpy dtypes, references, and what becomes of elements between a file and numpy."""
