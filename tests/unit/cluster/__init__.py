"""Tests of what we know."""
