"""The process that asks sympy: one line with two trees in, one word out (``algebra.py`` holds the other end)."""

import json
import sys
from typing import Any

MEMORY = 1 << 30
_DIGITS = 40
_CALLS = {
    "sin": "sin", "cos": "cos", "tan": "tan", "cot": "cot", "sec": "sec", "csc": "csc", "arcsin": "asin",
    "arccos": "acos",
    "arctan": "atan", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "ln": "log",
}  # fmt: skip


def limit_memory() -> None:
    """Let the process fail rather than fill the machine; where the system has no such limit, only time is limited."""
    try:
        import resource  # noqa: PLC0415 (not on Windows)
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def build(tree: list[Any]) -> Any:
    """A sympy expression out of nodes that we know, by its constructors alone."""
    import sympy  # noqa: PLC0415 (only this process loads it)

    kind, *parts = tree
    if kind == "number":
        return sympy.Rational(parts[0])
    if kind == "constant":
        return {"pi": sympy.pi, "e": sympy.E, "i": sympy.I, "infinity": sympy.oo}[parts[0]]
    if kind == "symbol":
        return sympy.Symbol(parts[0], positive=True)
    if kind == "call":
        argument = build(parts[1])
        return sympy.log(argument, 10) if parts[0] in ("log", "lg") else getattr(sympy, _CALLS[parts[0]])(argument)
    first, *others = map(build, parts)
    return {
        "neg": lambda: -first,
        "abs": lambda: sympy.Abs(first),
        "factorial": lambda: sympy.factorial(first),
        "binomial": lambda: sympy.binomial(first, others[0]),
        "add": lambda: first + others[0],
        "sub": lambda: first - others[0],
        "mul": lambda: first * others[0],
        "div": lambda: first / others[0],
        "pow": lambda: first ** others[0],
    }[kind]()


def compare(one: list[Any], other: list[Any]) -> str:
    """``same``, ``different`` or ``unknown``."""
    import sympy  # noqa: PLC0415

    first, second = build(one), build(other)
    if first == second:
        return "same"
    equal = sympy.expand(first - second).equals(0)
    if equal is None:
        rest = (first - second).subs({symbol: sympy.Rational(7, 5) + n for n, symbol in _numbered(first, second)})
        value = rest.evalf(_DIGITS, maxn=10 * _DIGITS)
        equal = bool(abs(value) < sympy.Float(10) ** -(_DIGITS // 2)) if value.is_number else None
    return "unknown" if equal is None else "same" if equal else "different"


def _numbered(first: Any, second: Any) -> list[tuple[int, Any]]:
    return list(enumerate(sorted(first.free_symbols | second.free_symbols, key=str), start=1))


def main() -> None:
    """Answer line by line until there are no more."""
    limit_memory()
    import sympy  # noqa: F401, PLC0415

    print("ready", flush=True)
    for line in sys.stdin:
        try:
            print(compare(*json.loads(line)), flush=True)
        except Exception:  # (whatever sympy makes of it, the next question is another)
            print("unknown", flush=True)


if __name__ == "__main__":
    main()
