"""Mail to people who have not asked for it."""


def greeting(name: str) -> str:
    """Return a friendly line."""
    return f"Dear {name}, have you seen our garden?"
