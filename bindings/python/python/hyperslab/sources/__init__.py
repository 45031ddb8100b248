"""Sources: what a path, an address, a file object or content is, and how it is opened, here and in other processes."""
