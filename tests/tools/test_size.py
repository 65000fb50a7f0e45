"""Figures of the code, and a class name is defined once."""

import ast
from collections import defaultdict
from pathlib import Path

from tools.readability import measure
from tools.size import SOURCE

PLUGIN_CONSTANTS = {
    *("BACKEND", "FIGURE", "FIGURES", "FORMAT", "MEASURES", "METRICS", "PROBE", "PROBES", "READER", "READERS"),
    *("REFORMER", "REFORMERS", "RULES", "FILTERS", "WRITER"),
}


def _constants(tree: ast.Module) -> set[str]:
    assigned = [node for node in tree.body if isinstance(node, ast.Assign | ast.AnnAssign)]
    targets = [target for node in assigned for target in getattr(node, "targets", [getattr(node, "target", None)])]
    return {target.id for target in targets if isinstance(target, ast.Name)}


def test_figures_of_a_package_count_code_and_not_its_text(tmp_path: Path) -> None:
    package = tmp_path / "thing"
    (package / "one").mkdir(parents=True)
    (package / "two").mkdir()
    (package / "one" / "__init__.py").write_text("")
    (package / "one" / "words.py").write_text("LONG = 1\n")
    (package / "two" / "__init__.py").write_text(
        '"""A text of six words here."""\n\nfrom thing.one import words\n\n# a comment\nfound = words.LONG\n'
    )
    figures = measure(package)
    assert figures.modules == 3
    assert figures.tokens == 3 + 6 + 5
    assert figures.border_names == {("one", "words"), ("one", "LONG")}
    assert (figures.names, figures.non_noun_names) == (2, 1)
    assert figures.string_imports == 0


def test_a_branch_in_each_form_makes_a_function_more_complex(tmp_path: Path) -> None:
    condition = " and ".join(["flag"] * 15)
    (tmp_path / "plain.py").write_text(f"def decide(flag):\n    return {condition}\n")
    assert measure(tmp_path).complex_functions == 0
    (tmp_path / "plain.py").write_text(f"def decide(flag):\n    if flag:\n        return {condition}\n")
    assert measure(tmp_path).complex_functions == 1


def test_a_class_name_is_defined_once_unless_plugins_of_two_kinds_share_it() -> None:
    folders: dict[str, list[str]] = defaultdict(list)
    for path in SOURCE.rglob("*.py"):
        tree = ast.parse(path.read_text("utf-8"))
        folder = str(path.parent if PLUGIN_CONSTANTS & _constants(tree) else SOURCE)
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                folders[node.name].append(folder)
    assert [name for name, homes in folders.items() if len(homes) > len(set(homes))] == []
