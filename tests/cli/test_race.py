"""``eyetest run --until "A>B"``: two models asked until one leads, in processes that may be killed."""

from pathlib import Path

import pytest
import yaml

from tests.endpoint import Endpoint
from tests.running.benches import make_bench
from tests.running.processes import Nursery, until
from tests.support.command import call

NEW, OLD = "new=scripted:right=0.9,seed=1", "old=scripted:right=0.4,seed=2"
ITEMS = 120


def test_killed_it_goes_on_and_asks_nothing_twice(tmp_path: Path, endpoint: Endpoint, nursery: Nursery) -> None:
    make_bench(tmp_path / "b", ITEMS)
    (tmp_path / "m.yaml").write_text(
        yaml.safe_dump({name: f"openai:{name}@{endpoint.url}" for name in ("new", "old")})
    )
    command = ("run", "b", "--models", "m.yaml", "--until", "new>old", "--to", "r", "--concurrency", 2)
    process = nursery.start(*command)
    until(lambda: endpoint.sent.total() >= 30)
    process.kill()
    done = nursery.run(*command)
    assert done.code == 0, done.stderr
    again = sum(count > 1 for count in endpoint.sent.values())
    assert again <= 2 * 2, "only what was in flight when it was killed"
    sent = endpoint.sent.total()
    assert nursery.run(*command).stdout.splitlines()[:-1] == done.stdout.splitlines()[:-1]
    assert endpoint.sent.total() == sent


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--models", "m.yaml", "--until", "new>x", "--to", "r"), 'no model "x"'),
        (("-m", NEW, "--until", "new>old", "--to", "r"), "old"),
        (("-m", NEW, "-m", OLD, "--until", "new>old"), "--to RUN is missing"),
        (("-m", NEW, "-m", OLD, "--until", "new>old", "--to", "r", "--answers", "gone"), "gone"),
        (("-m", NEW, "-m", OLD, "--to", "r", "--answers", "gone"), "--answers needs --until"),
        (
            ("-m", NEW, "-m", OLD, "--until", "new>old", "--to", "r", "--condition", "image,no-image"),
            "in one way, once",
        ),
    ],
)
def test_bad_words_are_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: tuple[str, ...], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    make_bench(tmp_path / "b", 8)
    (tmp_path / "m.yaml").write_text(yaml.safe_dump(dict(word.split("=", 1) for word in (NEW, OLD))))
    assert message in call("run", "b", *more).refused()
    assert not (tmp_path / "r").exists()
