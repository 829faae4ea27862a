"""The daemon: a live cluster scheduled: the core driven, watched over and made visible."""
