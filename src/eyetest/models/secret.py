"""Keys: taken from the environment, shown to one server, and never written anywhere."""

import os
import re
from urllib.parse import quote, urlsplit

from eyetest.errors import InputError

_OPENAI_HOST = "api.openai.com"
_SUSPICIOUS = ("key", "token", "secret", "password", "auth")
_VARIABLE = re.compile("[A-Z][A-Z0-9_]{0,40}")
"""How variables are usually called; anything else might be the key itself, given by mistake, and is not repeated."""
_SHORTEST = 6
_BEGINNING = 12
"""Servers that mask a key show less than this of it at either end."""


class Secret:
    """A key that cannot be printed by accident."""

    def __init__(self, value: str) -> None:
        self._value = value
        spellings = (value, quote(value), value[:_BEGINNING], value[-_BEGINNING:]) if len(value) >= _SHORTEST else ()
        self._spellings = tuple(dict.fromkeys(spellings))

    def header(self) -> dict[str, str]:
        """What the server is shown."""
        return {"Authorization": f"Bearer {self._value}"} if self._value else {}

    def scrub(self, text: str) -> str:
        """A text without the key: some servers put it, or its beginning, into their error messages."""
        for spelling in self._spellings:
            text = text.replace(spelling, "[key]")
        return text

    def __bool__(self) -> bool:
        return bool(self._value)

    def __repr__(self) -> str:
        return "Secret(…)"

    def __reduce__(self) -> str:
        raise TypeError("a key is not to be stored")


def key_for(url: str, variable: str | None) -> Secret:
    """The key for an endpoint.

    A variable that was named is used as it is. Otherwise OPENAI_API_KEY goes to OpenAI and to nobody else, and
    EYETEST_API_KEY to any other endpoint.
    """
    if variable is None:
        variable = "OPENAI_API_KEY" if urlsplit(url).hostname == _OPENAI_HOST else "EYETEST_API_KEY"
        return _checked(os.environ.get(variable, ""), variable)
    if variable not in os.environ:
        name = variable if _VARIABLE.fullmatch(variable) else "that key_env names"
        raise InputError(f"the environment variable {name} is not set; key_env is its name, not the key itself")
    return _checked(os.environ[variable], variable)


def refuse_keys_in(url: str) -> None:
    """An address is written down with the run, so it may not carry a key."""
    parts = urlsplit(url)
    if parts.username or parts.password or any(word in parts.query.lower() for word in _SUSPICIOUS):
        raise InputError(
            f"the address of {parts.hostname} carries a key or password, and addresses are written down; "
            "put the key into an environment variable and name it with key_env"
        )


def _checked(value: str, variable: str) -> Secret:
    value = value.strip()
    if not value.isprintable() or not value.isascii():
        raise InputError(f"the key in {variable} holds characters that no key has")
    return Secret(value)
