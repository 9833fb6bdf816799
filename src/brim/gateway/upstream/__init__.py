"""The model server: the request out, and its answer back."""
