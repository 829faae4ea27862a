"""Time without waiting: a world that torments the core from a seed, and a referee."""
