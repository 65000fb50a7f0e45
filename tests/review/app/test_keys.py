"""The pages under somebody's fingers, in Chromium: keys, selection, zoom, and a served page that breaks no rule."""

import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import uvicorn

from eyetest.review.app import listen, make_app, write_bundle
from eyetest.review.collection import Collection
from tests.reports.pages import Browse
from tests.review.app.conftest import try_out

TRIAL = """
const told = [];
const hit = (key) => {
  document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
};
const settled = async (what) => {
  for (let turn = 0; turn < 200 && !what(); turn += 1) await new Promise((go) => setTimeout(go, 10));
};
const at = () => document.querySelector(".card.at")?.dataset.id;
const open = () => document.querySelector(".whole")?.dataset.id;
(async () => {
  await settled(() => document.querySelector(".card"));
  for (const key of ["j", "j", "k", "j"]) hit(key);
  told.push(["second", at()]);
  hit("x");
  told.push(["chosen", byId("chosen").textContent]);
  document.activeElement.blur();
  hit("Enter");
  await settled(open);
  told.push(["open", open(), byId("choose-this").getAttribute("aria-pressed")]);
  hit("j");
  await settled(() => open() === "q2");
  told.push(["next", open(), location.hash]);
  hit("+");
  told.push(["near", view.scale > 1]);
  hit("0");
  told.push(["whole", view.scale]);
  hit("Escape");
  await settled(() => !open() && at());
  told.push(["back", at(), location.hash]);
  hit("g");
  await settled(() => document.body.className === "list");
  told.push(["layout", document.body.className]);
  hit("/");
  told.push(["search", document.activeElement.name]);
  hit("g");
  told.push(["typed", document.body.className]);
  hit("Escape");
  hit("?");
  told.push(["help", byId("help").open]);
  document.body.dataset.trial = JSON.stringify(told);
})();
"""


def test_keys_alone_suffice(collection: Collection, tmp_path: Path, browse: Browse) -> None:
    write_bundle(collection, tmp_path / "copy")
    told, _ = try_out(browse, tmp_path / "copy", TRIAL, "#gold=A")
    assert told == [
        ["second", "q1"],
        ["chosen", "1 selected"],
        ["open", "q1", "true"],
        ["next", "q2", "#gold=A&item=q2"],
        ["near", True],
        ["whole", 1],
        ["back", "q2", "#gold=A"],
        ["layout", "list"],
        ["search", "text"],
        ["typed", "list"],
        ["help", True],
    ]


@pytest.fixture
def address(collection: Collection) -> Iterator[str]:
    """Where the zoo is served, until the test ends."""
    taken = listen("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(make_app(collection), log_level="critical", lifespan="off", ws="none"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [taken]})
    thread.start()
    yield f"http://127.0.0.1:{taken.getsockname()[1]}"
    server.should_exit = True
    thread.join()


def test_a_served_page_breaks_no_rule_of_its_own(address: str, browse: Browse) -> None:
    document, said, asked = browse(f"{address}/?tag.task=birds&item=q0")
    assert said == []
    assert [one for one in asked if not one.startswith(address)] == []
    assert {one.removeprefix(address).partition("?")[0] for one in asked} >= {"/", "/app.css", "/app.js"}
    assert re.search(r'<img src="picture/\w{64}"[^>]*style="width: \d', document)
