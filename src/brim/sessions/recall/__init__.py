"""What left a prompt comes back: by the tool of a model, by a pin, by its handle."""
