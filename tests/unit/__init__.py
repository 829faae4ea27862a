"""Tests of single modules, laid out as the source is."""
