"""Unit tests of the batch lane."""
