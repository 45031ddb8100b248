"""Tables: datasets and models as Arrow, with columns, conditions and splits."""
