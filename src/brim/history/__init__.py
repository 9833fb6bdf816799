"""Histories that stay legal, cheap and cached: turns, seams, rules, selection, and the cut that is held."""
