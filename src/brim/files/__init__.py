"""Files of strangers read with line numbers, and files written whole or not at all."""
