"""What to put right: in the settings, in the receipts of a run, and in prompt files checked against budgets."""
