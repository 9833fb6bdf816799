"""What a client sends: its path, its body, and the names that it gives to its conversation."""
