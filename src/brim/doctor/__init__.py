"""Checks of a project: its settings, the receipts of its runs, and its prompt files."""
