"""Tests with Kubernetes' own programs, built from their public modules; all of them are slow."""
