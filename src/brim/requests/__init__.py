"""Whole requests: sections, a history and tools under one budget, and fits that are run again."""
