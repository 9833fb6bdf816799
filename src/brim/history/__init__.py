"""Histories: turns, the rules of providers, selection, forms, and the kept cut."""
