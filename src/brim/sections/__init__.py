"""Sections and a budget in, a prompt out: allocation, truncation, the page, and the receipt."""
