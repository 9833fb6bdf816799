"""The records of fits: sections, captures, receipts, and the schema of their JSON."""
