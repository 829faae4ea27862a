"""Configuration files read into profiles."""
