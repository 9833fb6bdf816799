"""Make a long history short: plan what stays, summarise the rest, put the summary in its place."""
