"""What strangers write for brim: YAML files, prompt files and receipts, read with care and refused by line."""
