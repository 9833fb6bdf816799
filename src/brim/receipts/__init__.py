"""What a fit was given and what came of it: sections, captures, receipts, and the schema of their JSON."""
