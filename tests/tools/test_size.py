"""The size check: figures above their limits are named, and a class name is defined once."""

import ast
from collections import defaultdict

from tools.size import SOURCE, above

PLUGIN_CONSTANTS = {
    *("BACKEND", "FIGURE", "FIGURES", "FORMAT", "MEASURES", "METRICS", "PROBE", "PROBES", "READER", "READERS"),
    *("REFORMER", "REFORMERS", "RULES", "FILTERS", "WRITER"),
}


def _constants(tree: ast.Module) -> set[str]:
    assigned = [node for node in tree.body if isinstance(node, ast.Assign | ast.AnnAssign)]
    targets = [target for node in assigned for target in getattr(node, "targets", [getattr(node, "target", None)])]
    return {target.id for target in targets if isinstance(target, ast.Name)}


def test_a_figure_above_its_limit_is_named() -> None:
    assert above({"src lines": 10, "commands": 3}, {"src lines": 10, "commands": 2}) == [
        "commands: 3 is above the limit of 2"
    ]


def test_a_class_name_is_defined_once_unless_plugins_of_two_kinds_share_it() -> None:
    folders: dict[str, list[str]] = defaultdict(list)
    for path in SOURCE.rglob("*.py"):
        tree = ast.parse(path.read_text("utf-8"))
        folder = str(path.parent if PLUGIN_CONSTANTS & _constants(tree) else SOURCE)
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                folders[node.name].append(folder)
    assert [name for name, homes in folders.items() if len(homes) > len(set(homes))] == []
