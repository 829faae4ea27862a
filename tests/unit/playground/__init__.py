"""Tests of the playground, asked over loopback as any client asks it."""
