"""The batch lane: sessions over jobs and queues."""
