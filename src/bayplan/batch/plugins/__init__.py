"""The plugins of a session, one file each: who goes first, who is ready, who may be a victim, where tasks may run."""
