"""Measure how dense and how entangled a Python package is.

``measure(root)`` reads every module below ``root`` and returns its figures:

- tokens: tokens of the language, without comments, line ends, indentation, and docstrings
- nodes a line: nodes of the syntax tree, divided by the physical lines
- border names: distinct names that a top-level package takes from another one, by import or as an attribute of an
  imported module; the packages inside ``core`` count as top-level packages
- complex functions: functions with a cyclomatic complexity above 15
- non-noun names: share of local names and parameters that are participles or filler words
- string imports: imports of the package's own modules by a string, below the layers that register features
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

MOST_COMPLEX = 15
NON_NOUNS = frozenset(Path(__file__).with_name("non_nouns.txt").read_text("utf-8").split())
"""Words that do not say what a variable holds."""
REGISTERING = frozenset(
    {"bridges", "cli", "commands", "integrations", "pages", "reports", "studio", "__init__", "__main__"}
)
"""Layers that may load modules by name, because they register what plugs in."""
_UNCOUNTED_TOKENS = frozenset(
    {
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENDMARKER,
    }
)
_BRANCHES = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.ExceptHandler, ast.IfExp, ast.Assert, ast.match_case)


@dataclass
class Figures:
    """What was counted in the modules of a package."""

    modules: int = 0
    lines: int = 0
    tokens: int = 0
    nodes: int = 0
    functions: int = 0
    complex_functions: int = 0
    names: int = 0
    non_noun_names: int = 0
    string_imports: int = 0
    border_names: set[tuple[str, str]] = field(default_factory=set)

    @property
    def nodes_a_line(self) -> float:
        """The density of the code."""
        return self.nodes / max(1, self.lines)

    @property
    def non_noun_share(self) -> float:
        """The share of local names that do not say what they hold."""
        return self.non_noun_names / max(1, self.names)


def measure(root: Path) -> Figures:
    """Return the figures of the package whose folder is ``root``."""
    figures = Figures()
    for path in sorted(root.rglob("*.py")):
        _count_module(figures, root, path)
    return figures


def count_tokens(text: str, tree: ast.Module) -> int:
    """Return the number of tokens on lines that are not part of a docstring."""
    string_lines: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and _is_string(node.value):
            string_lines.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    counted = (token for token in tokens if token.type not in _UNCOUNTED_TOKENS)
    return sum(token.start[0] not in string_lines for token in counted)


def complexity(function: ast.AST) -> int:
    """Return the cyclomatic complexity of a function: one, and one more for each branch inside it."""
    branches = 1
    for node in ast.walk(function):
        if isinstance(node, _BRANCHES):
            branches += 1
        elif isinstance(node, ast.BoolOp):
            branches += len(node.values) - 1
        elif isinstance(node, ast.comprehension):
            branches += 1 + len(node.ifs)
    return branches


def _count_module(figures: Figures, root: Path, path: Path) -> None:
    text = path.read_text("utf-8")
    tree = ast.parse(text)
    module = path.relative_to(root).with_suffix("").parts
    package = _package_of(module)
    figures.modules += 1
    figures.lines += len(text.splitlines())
    figures.tokens += count_tokens(text, tree)
    for node in ast.walk(tree):
        figures.nodes += 1
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            figures.functions += 1
            figures.complex_functions += complexity(node) > MOST_COMPLEX
        name = _bound_name(node)
        if name is not None:
            figures.names += 1
            figures.non_noun_names += name.strip("_") in NON_NOUNS
    figures.border_names |= set(_border_names(root, module, tree))
    if package not in REGISTERING:
        pattern = rf"(?:import_module|__import__)\(\s*f?[\"']{root.name}[.\"']"
        figures.string_imports += len(re.findall(pattern, text))


def _is_string(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _bound_name(node: ast.AST) -> str | None:
    """Return the name that a node binds, if it binds one."""
    if isinstance(node, ast.arg):
        return node.arg
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        return node.id
    return None


def _package_of(module: tuple[str, ...]) -> str:
    """Return the top-level package of a module or name; each package inside core counts by itself."""
    is_inside_core = module[0] == "core" and len(module) > 2
    return ".".join(module[:2]) if is_inside_core else module[0]


def _border_names(root: Path, module: tuple[str, ...], tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield each (module, name) that this module takes from another top-level package."""
    package = _package_of(module)
    imported_modules: dict[str, str] = {}
    for origin, alias in _imported_names(root.name, module, tree):
        source = _package_of((*origin, alias.name))
        if source == package:
            continue
        yield ".".join(origin), alias.name
        if _is_module(root, (*origin, alias.name)):
            imported_modules[alias.asname or alias.name] = source
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
            continue
        if node.value.id in imported_modules:
            yield imported_modules[node.value.id], node.attr


def _imported_names(
    top: str, module: tuple[str, ...], tree: ast.Module
) -> Iterator[tuple[tuple[str, ...], ast.alias]]:
    """Yield each name imported from the package ``top``, with the module that it is imported from."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            origin = _origin(top, module, node)
            if origin is not None:
                yield from ((origin, alias) for alias in node.names)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                parts = tuple(alias.name.split("."))
                if parts[0] == top and len(parts) > 1:
                    yield parts[1:-1], ast.alias(parts[-1])


def _origin(top: str, module: tuple[str, ...], node: ast.ImportFrom) -> tuple[str, ...] | None:
    """Return the module that an import names, below ``top``; None for a module of another distribution."""
    names = tuple(node.module.split(".")) if node.module else ()
    if node.level:
        return module[: len(module) - node.level] + names
    return names[1:] if names and names[0] == top else None


def _is_module(root: Path, names: tuple[str, ...]) -> bool:
    path = root.joinpath(*names)
    return path.is_dir() or path.with_suffix(".py").is_file()
