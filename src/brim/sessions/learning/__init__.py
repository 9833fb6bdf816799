"""What a program learns while it runs: how models count, how much they hold, how long they cache."""
