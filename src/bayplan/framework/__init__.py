"""What a rule is, which rules make a profile, and the one way to ask them."""
