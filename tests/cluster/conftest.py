"""What is not to be collected: scripts that run in an environment of their own."""

collect_ignore_glob = ["clients/*"]
