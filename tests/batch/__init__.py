"""Random histories of the batch lane, and what must hold in all of them."""
