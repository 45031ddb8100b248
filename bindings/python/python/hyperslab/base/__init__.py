"""Base: errors, checks of arguments, counters and text that every room uses. It knows nothing of files."""
