"""Divides a budget among sections, in whole units: the solver, and the slow reference that it is held against."""
