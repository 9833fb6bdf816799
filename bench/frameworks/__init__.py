"""Adapters of agent frameworks, one file each: chat messages to the framework's classes and back.

A message that comes back with the same role, text and ids is replaced by the caller's own: what a conversion loses is
not counted against the trimmer.
"""
