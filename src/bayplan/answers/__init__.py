"""Questions put to a scheduler: why, where, what if."""
