"""Where an endpoint is and with what key it is asked: ``MODEL@URL``, keys that are never printed, proxies."""

import os
import re
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from yarl import URL

from eyetest.errors import InputError
from eyetest.redaction import learn, learn_address, plain_address, plain_variable, plain_word

_SPEC = re.compile(r"(?P<model>.+)@(?P<url>https?://[^\s@]+)", re.IGNORECASE | re.DOTALL)
_DEFAULT_URL = "https://api.openai.com/v1"
_OPENAI_HOST = "api.openai.com"
_SUSPICIOUS = ("key", "token", "secret", "password", "auth")


def proxy_for(url: URL) -> str | None:
    """The proxy that the environment names for an address, if it names one."""
    proxy = None if proxy_bypass(url.host or "") else getproxies().get(url.scheme)
    if proxy is None:
        return None
    learn_address(proxy)
    try:
        if URL(proxy).host and URL(proxy).scheme in ("http", "https"):
            return proxy
    except ValueError:
        pass
    raise InputError(f"the environment's {url.scheme}_proxy is no address of an http proxy: http://host:port")


def parse_target(target: str) -> tuple[str, str]:
    """``MODEL@URL`` as its two halves; without a URL it is OpenAI's own service."""
    address = re.search("@(https?://.*)", target, re.IGNORECASE | re.DOTALL)
    if address:
        refuse_keys_in(address[1])
    match = _SPEC.fullmatch(target)
    if match is None:
        if "@" in target or "://" in target or not target:
            model = plain_word(target)
            raise InputError(f"openai:{model} needs an address: openai:MODEL@URL, such as http://host:8000/v1")
        return target, _DEFAULT_URL
    url = match["url"].rstrip("/")
    parts = urlsplit(url)
    try:
        usable = bool(URL(url).host) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise InputError(f"openai:{plain_word(match['model'])}@… has no address that can be: http://host:8000/v1")
    if parts.path.endswith("/chat/completions"):
        raise InputError(f"{plain_address(url)}: leave /chat/completions off the end")
    return match["model"], url


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
        variable = usual_variable(url)
        return _checked_key(os.environ.get(variable, ""), variable)
    if variable not in os.environ:
        name = plain_variable(variable) or "that key_env names"
        raise InputError(f"the environment variable {name} is not set; key_env is its name, not the key itself")
    return _checked_key(os.environ[variable], variable)


def usual_variable(url: str) -> str:
    """The environment variable that holds the key for an endpoint, where none is named."""
    return "OPENAI_API_KEY" if urlsplit(url).hostname == _OPENAI_HOST else "EYETEST_API_KEY"


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


def _checked_key(value: str, variable: str) -> Secret:
    value = value.strip()
    if not value.isprintable() or not value.isascii():
        name = plain_variable(variable) or "the variable that key_env names"
        raise InputError(f"the key in {name} holds characters that no key has")
    return Secret(value)
