"""Tests of keyed state."""
