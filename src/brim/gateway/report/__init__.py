"""What a gateway reports: log lines, metrics, its status, and the newest requests for the studio."""
