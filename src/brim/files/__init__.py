"""Reads untrusted files with line numbers, and writes files atomically."""
