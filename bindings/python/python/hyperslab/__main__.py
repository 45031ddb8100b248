"""`python -m hyperslab` is the command `hyperslab`."""

from .cli import main

main()
