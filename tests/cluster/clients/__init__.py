"""Clients by others, tried on the playground in an environment of their own."""
