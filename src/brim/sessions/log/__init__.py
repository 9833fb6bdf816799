"""What a session writes down, and how it is found again."""
