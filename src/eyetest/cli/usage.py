"""What is wrong with a command line that cannot be parsed: one sentence, and where to look."""

import re
from collections.abc import Callable, Collection, Sequence
from typing import Any, Literal, get_args, get_origin

from cyclopts import exceptions as parsing

from eyetest.errors import InputError, nearest, short, typed

_KINDS = {int: "a whole number", float: "a number", bool: "yes or no"}


def unknown_command(words: Sequence[str], names: Collection[str]) -> InputError:
    """The line about a command that does not exist; ``names`` are all commands, those of a group with two words."""
    wanted = " ".join(words)
    first = [name for name in names if len(words) > 1 and name.startswith(f"{words[0]} ")]
    near = {name.removeprefix(f"{words[0]} ") for name in first} or {name.split()[0] for name in names}
    return InputError(f'there is no command "{wanted}"; {nearest(words[-1], near, 40)}')


def usage_error(error: parsing.CycloptsError, name: str) -> InputError:
    """One line about the words of a command; ``name`` is the command, empty where none is named."""
    describe = _DESCRIPTIONS.get(type(error), _as_parsed)
    text = describe(error)
    end = " See" if text.endswith("?") else "; see"
    return InputError(f"{text}{end} {typed('eyetest', *name.split(), '--help')}")


def _unknown_option(error: Any) -> str:
    token = error.token
    option = token.keyword or token.value
    if not option.startswith("-"):
        return f"{_place(token)}there is no option {short(option)}"
    options = [name for argument in error.argument_collection if argument.parse for name in argument.names]
    return f"{_place(token)}there is no option {option.partition('=')[0]}{_suggested(option, options)}"


def _suggested(option: str, options: Sequence[str]) -> str:
    """The nearest option as a question; nothing where none is near."""
    near = nearest(option.partition("=")[0], options)
    match = re.fullmatch(r'did you mean "(.*)"\?', near)
    return f"; did you mean {match[1]}?" if match else ""


def _no_command(error: Any) -> str:
    word = error.unused_tokens[0]
    if word.startswith("-"):
        return f"there is no option {word.partition('=')[0]} before a command"
    return f"there is no command {short(word)}"


def _missing(error: Any) -> str:
    name = error.keyword or error.argument.name
    if name.startswith("-"):
        return f"{name} needs a value"
    return f"{name.strip('[]').upper()} is missing"


def _repeated(error: Any) -> str:
    return f"{error.token.keyword} is given twice; leave one of the two out"


def _not_converted(error: Any) -> str:
    token, kind = error.token, error.target_type
    if token is None or kind is None:
        return _as_parsed(error)
    option = token.keyword or (error.argument.name.strip("-").upper() if error.argument else "")
    head = f"{_place(token)}{option.strip('[]')}: found {short(token.value)}, expected"
    if get_origin(kind) is Literal:
        choices = [str(choice) for choice in get_args(kind)]
        near = nearest(token.value, choices)
        suggestion = f"; {near}" if near.startswith("did") else ""
        return f"{head} one of {', '.join(choices)}{suggestion}"
    return f"{head} {_KINDS.get(kind, getattr(kind, '__name__', str(kind)))}"


def _unused(error: Any) -> str:
    words = ", ".join(map(short, error.unused_tokens))
    return f"too many words: nothing takes {words}"


def _place(token: Any) -> str:
    """The file that a value comes from, where it is not the command line."""
    return "" if token.source in ("", "cli") else f"{token.source}: "


def _as_parsed(error: parsing.CycloptsError) -> str:
    text = " ".join(str(error).split()).rstrip(".")
    return f"{text[:1].lower()}{text[1:]}"


_DESCRIPTIONS: dict[type[parsing.CycloptsError], Callable[[Any], str]] = {
    parsing.UnknownOptionError: _unknown_option,
    parsing.UnknownCommandError: _no_command,
    parsing.MissingArgumentError: _missing,
    parsing.RepeatArgumentError: _repeated,
    parsing.CoercionError: _not_converted,
    parsing.UnusedCliTokensError: _unused,
}
