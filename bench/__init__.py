"""Measurements: how fast decisions are made, beside the least that any decision over all rows costs."""
