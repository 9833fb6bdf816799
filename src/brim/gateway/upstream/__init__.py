"""Sends requests to the model server, and passes its answers back."""
