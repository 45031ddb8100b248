"""Objects of a file that is read: groups, datasets, attributes, datatypes, links."""
