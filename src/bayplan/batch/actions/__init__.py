"""The actions of a session, one file each."""
