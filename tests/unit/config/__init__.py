"""Tests of configuration files and what becomes of them."""
