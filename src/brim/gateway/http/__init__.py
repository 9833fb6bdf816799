"""The server: it listens, admits requests, and answers errors in the format of their route."""
