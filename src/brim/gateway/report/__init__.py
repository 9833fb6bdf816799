"""What a gateway reports: log lines, metrics and its status."""
