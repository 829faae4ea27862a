"""The engine check: whatever happened to a table, it answers as one that was built from the objects does."""
