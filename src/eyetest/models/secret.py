"""Keys: taken from the environment, shown to one server, and never written anywhere."""

import os
from urllib.parse import urlsplit

from eyetest.errors import InputError
from eyetest.redaction import learn, plain_variable

_OPENAI_HOST = "api.openai.com"
_SUSPICIOUS = ("key", "token", "secret", "password", "auth")


class Secret:
    """A key that cannot be printed by accident, and that is taken out of all texts from now on."""

    def __init__(self, value: str) -> None:
        self._value = value
        learn(value)

    def header(self) -> dict[str, str]:
        """What the server is shown."""
        return {"Authorization": f"Bearer {self._value}"} if self._value else {}

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
        name = plain_variable(variable) or "that key_env names"
        raise InputError(f"the environment variable {name} is not set; key_env is its name, not the key itself")
    return _checked(os.environ[variable], variable)


def refuse_keys_in(url: str) -> None:
    """A key in an address would be in shell histories and lists of processes, so it is not taken from there."""
    try:
        parts = urlsplit(url)
        carries = parts.username is not None or any(word in parts.query.lower() for word in _SUSPICIOUS)
    except ValueError:
        return
    if carries:
        raise InputError(
            f"the address of {parts.hostname} carries a key or password; "
            "put it into an environment variable and name that with key_env"
        )


def _checked(value: str, variable: str) -> Secret:
    value = value.strip()
    if not value.isprintable() or not value.isascii():
        name = plain_variable(variable) or "the variable that key_env names"
        raise InputError(f"the key in {name} holds characters that no key has")
    return Secret(value)
