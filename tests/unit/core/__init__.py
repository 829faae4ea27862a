"""Tests of when and in what order pods are tried."""
