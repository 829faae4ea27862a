"""Tests of the benchmark itself; none of them asserts how fast anything is."""
