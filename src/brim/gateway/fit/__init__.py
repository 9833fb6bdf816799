"""Decides what to send for a request, by its rule, its model's window and its conversation."""
