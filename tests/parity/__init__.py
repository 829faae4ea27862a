"""Parity: bayplan's answers beside kube-scheduler's own, over stored cases and over random ones."""
