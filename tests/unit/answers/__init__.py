"""Tests of questions put to a scheduler."""
