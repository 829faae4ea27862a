"""When and in what order pods are tried."""
