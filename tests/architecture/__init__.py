"""Tests of the house itself: what must hold of every file, whoever wrote it."""
