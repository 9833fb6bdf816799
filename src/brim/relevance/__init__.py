"""How relevant texts are to a query, offline: by their words, and with an extra by their meaning."""
