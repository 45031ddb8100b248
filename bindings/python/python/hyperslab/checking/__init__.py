"""What is wrong with files, and where their bytes are."""
