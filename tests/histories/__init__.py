"""Histories: thousands of simulated lives of a cluster, each from a seed."""
