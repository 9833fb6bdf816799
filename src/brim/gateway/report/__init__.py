"""What a gateway says of itself: lines, metrics, its status, and the newest requests for the studio."""
