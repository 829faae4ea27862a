"""What we know: the node table, and what is keyed beside it."""
