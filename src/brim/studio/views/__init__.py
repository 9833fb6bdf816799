"""The screens of the page as JSON, one module for each."""
