"""What is sent for a request: by its rule, the window of its model, and its conversation."""
