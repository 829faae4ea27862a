"""Tests of the package as it is installed, in an environment of its own: slow, run by `make dist`."""
