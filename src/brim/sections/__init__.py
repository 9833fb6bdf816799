"""Fits sections into a budget: allocation, truncation, layout and the receipt."""
