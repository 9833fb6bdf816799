"""What a session logs, and how to find it again."""
