"""What a program learns while it runs: how models count, their windows, and how long they cache."""
