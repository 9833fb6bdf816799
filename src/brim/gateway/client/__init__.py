"""What a client sends: a path, a body, and names for its conversation."""
