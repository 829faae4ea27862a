"""What `kube-batch` behaviour does as kube-batch does it: its actions, and the plugins that differ."""
