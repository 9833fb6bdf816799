"""What an agent remembers: lessons of its attempts, what to avoid and to prefer, and a page of its own."""
