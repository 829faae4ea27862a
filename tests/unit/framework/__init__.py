"""Tests of what a rule is, and of asking rules."""
