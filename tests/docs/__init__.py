"""Tests of the documents: links lead somewhere, examples run."""
