"""Whole requests: sections, a history and tools under one budget, bodies of requests, and fits that are run again."""
