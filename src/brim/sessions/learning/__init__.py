"""What a program learns while it runs: how models count, how large their windows are, and how long they cache."""
