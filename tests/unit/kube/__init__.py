"""Tests of the room that talks to an API server."""
