"""What keeps the house legible: a class name means one thing, and hardly a module is a paragraph of its neighbour."""

from tools.house import modules, repeated_classes, thin_modules


def test_a_class_name_is_defined_once() -> None:
    assert repeated_classes(modules()) == {}


def test_few_modules_are_thin() -> None:
    assert len(thin_modules(modules())) <= 40


def test_a_name_that_is_defined_twice_is_noticed() -> None:
    text = "class Score: ..."
    assert repeated_classes({"runs/a.py": text, "store/b.py": text}) == {"Score": ["runs/a.py", "store/b.py"]}
    plugins = {"measures/a.py": f"{text}\nMEASURES = (Score(),)", "screens/a.py": f"{text}\nSCREENS = (Score(),)"}
    assert repeated_classes(plugins) == {}
