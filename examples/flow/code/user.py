"""Users and their login."""


class User:
    """Somebody who may log in."""

    def __init__(self, name: str, secret: str) -> None:
        self.name = name
        self._secret = secret

    def login(self, secret: str) -> bool:
        """Return whether the secret is right."""
        return secret == self._secret
