"""The project's tests: unit (mirrors src), architecture, documentation, parity, engine."""
