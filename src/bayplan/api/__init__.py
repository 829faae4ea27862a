"""What Kubernetes says: its objects, read into frozen structs, and the arithmetic that goes with them."""
