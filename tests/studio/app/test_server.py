"""The served pages: what they show, what they export, and whom they refuse."""

import csv
import io
import re
import shlex
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from html import unescape
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest
from PIL import Image as Pillow
from starlette.testclient import TestClient

from eyetest.benchmarks import Benchmark
from eyetest.benchmarks.images import MAX_REDUCED, decode, inspect
from eyetest.errors import ImageError, InputError
from eyetest.pages import serving
from eyetest.pages.serving import listen
from eyetest.studio.app import server
from eyetest.studio.app.items import make_app
from eyetest.studio.app.listing import BANDS, Address, list_page
from eyetest.studio.app.server import ServedImages
from eyetest.studio.collection import Collection
from tests.reports.pages import HOSTILE, Tags
from tests.studio.app.conftest import HOME, served


def cards(page: str) -> list[str]:
    return re.findall(r'<article class="card" data-id="(q\d)"', page)


def numbers(page: str) -> list[tuple[str, int]]:
    """Where the counts of a list lead, and how many items each promises."""
    links = re.findall(r'<a class="value[^"]*" href="([^"]*)"[^>]*>.*?<span class="count">(\d+)</span>', page)
    links += re.findall(r'<a href="([^"]*)" data-key="answer"[^>]*>(\d+)</a>', page)
    return [(unescape(href), int(number)) for href, number in links]


def test_every_number_of_the_list_leads_to_as_many_items(client: TestClient) -> None:
    promised = numbers(client.get("/?tag.task=beasts").text)
    narrower = [(href, number) for href, number in promised if href.count("tag.task=") == 1]
    assert len(narrower) > 16
    chosen = client.get("/?tag.task=birds").text
    assert re.search(r'data-value="birds" aria-current="true".*?count">2<', chosen)
    assert re.search(r'data-value="beasts"><.*?count">4<', chosen), "what another value would add"
    for href, number in narrower:
        assert len(cards(client.get(f"/{href}").text)) == number, href


@pytest.mark.parametrize(
    "query", ["", "verdict=drop", "stage=one", "stage=two&verdict=keep", "verdict=keep&tag.task=birds"]
)
def test_stages_and_verdicts_promise_what_they_show(judged: Collection, query: str) -> None:
    client = TestClient(make_app(judged), HOME)
    page = client.get(f"/?{query}").text
    shown = [one for one in numbers(page) if re.search(r"[?&](stage|verdict)=", one[0])]
    now = {(key, value) for key, value in Address.parse(query).parts}
    followed = 0
    for href, number in shown:
        added = set(Address.parse(href).parts) - now
        if any(key in ("stage", "verdict") for key, _ in added):
            assert len(cards(client.get(f"/{href}").text)) == number, href
            followed += 1
    assert followed >= 3


@pytest.mark.parametrize("query", ["", "tag.task=beasts", "difficulty=1", "doubt=..<0"])
def test_bins_are_disjoint_and_add_up(collection: Collection, query: str) -> None:
    address = Address.parse(query)
    facets = {one["key"]: one["values"] for one in list_page(collection, address)["facets"]}
    for key in BANDS:
        others = collection.view(Address(address.without(key)).query)
        if key == "doubt":  # too slow to count on each page
            assert [items for _, _, items in facets[key]] == [None] * 3
        else:
            known = len(others) - collection.items[others.positions][key].null_count()
            assert sum(items for _, _, items in facets[key]) == known, key


def test_two_models_are_compared_on_what_is_shown(client: TestClient) -> None:
    page = client.get("/?compare=a&compare=b").text
    cells = re.findall(r'<td class="right"><a href="([^"]*)">(\d)</a></td>', page.partition('id="versus"')[2])[:8]
    assert [int(number) for _, number in cells] == [2, 3, 0, 1, 0, 2, 2, 1], "image, then no-image"
    for href, number in cells:
        assert len(cards(client.get(f"/{unescape(href)}").text)) == int(number)
    assert "+50.0 [" in page
    item = client.get("/?compare=a&compare=b&item=q1").text
    assert re.findall(r'data-model="(\w)"', item) == ["a", "b"]
    assert "1 of 2 right" in item, "without the image"
    assert Address.parse("compare=a&compare=b").toggled("compare", "c") == "?compare=b&compare=c"


def test_a_verdict_is_shown_with_its_stage_and_reason(judged: Collection) -> None:
    page = TestClient(make_app(judged), HOME).get("/?verdict=drop&item=q2").text
    assert "2 of 2" in page
    assert re.search(r'<span class="badge drop">drop</span> <b>two</b><p dir="auto">so</p>', page)


def test_an_item_shows_golds_replies_and_the_way_on(client: TestClient) -> None:
    page = client.get("/?answer=right:a@image&item=q1").text
    assert "2 of 5" in page
    assert 'rel="prev" href="?answer=right:a@image&amp;item=q0"' in page
    assert 'rel="next" href="?answer=right:a@image&amp;item=q3"' in page
    assert re.search(r'<li class="gold"><span class="letter">A</span>.*?Red kite', page, re.DOTALL)
    assert re.findall(
        r'data-condition="([\w-]+)">\s*<div class="reply short">\s*<p[^>]*><span class="tone-(\w+)"', page
    ) == [*(("image", "right"), ("no-image", "wrong")), *(("image", "wrong"), ("no-image", "right"))]
    assert "<mark>A</mark>" in page
    assert "tone-odd" in client.get("/?item=q2").text
    failed = client.get("/?item=q5").text
    assert '<span class="tone-none">failed</span>' in failed
    assert "This item has no image" in failed


def test_the_list_says_how_people_can_decide_about_what_it_shows(collection: Collection, zoo: Path) -> None:
    client = TestClient(make_app(collection, places=[zoo / "a run"]), HOME)
    command = re.search(r'<code id="command">(.*?)</code>', client.get("/?tag.task=birds&verdict=keep").text)
    assert command
    given = unescape(re.sub(r"<[^>]*>", "", command[1]))
    assert shlex.split(given) == ["eyetest", "review", f"{zoo}/a run", "--items", "verdict=keep&tag.task=birds"]
    assert "--items '<span data-query>all</span>'" in client.get("/").text
    assert "eyetest review" not in TestClient(make_app(collection), HOME).get("/").text


def test_images_are_had_by_their_hash_alone(client: TestClient, zoo: Path) -> None:
    image = Benchmark(zoo / "bench")["q2"].images[0]
    whole = client.get(f"/image/{image.sha256}")
    assert (whole.status_code, whole.headers["content-type"]) == (200, "image/png")
    assert whole.content == Benchmark(zoo / "bench").images.read(image)
    assert client.get(f"/thumbnail/{image.sha256}").headers["content-type"] in ("image/png", "image/jpeg")
    for other in ("0" * 64, "..%2f..%2fetc%2fpasswd", quote(str(zoo / "bench" / "items.parquet"), safe="")):
        assert client.get(f"/image/{other}").status_code == 404


def test_what_is_shown_can_be_taken_along(client: TestClient) -> None:
    table = client.get("/items.csv?tag.year=2024&tag.year=2025")
    assert 'filename="items.csv"' in table.headers["content-disposition"]
    rows = list(csv.DictReader(io.StringIO(table.text)))
    assert [(row["id"], row["gold"], row["options"]) for row in rows] == [
        (f"q{number}", "B", "Red kite | Blue whale | Green frog") for number in (4, 5)
    ]


def test_a_wrong_address_is_refused_in_a_line(client: TestClient) -> None:
    wrong = {"tga.task=birds": "no filter", "tag.tsk=birds": "task", "page=none": "page: found", "item=q9": "no item"}
    wrong |= {"answer=wrong:c": "no model", "answer=rong": "no kind", "difficulty=2..1": "the smaller first"}
    for query, words in wrong.items():
        answer = client.get(f"/?{query}")
        assert (answer.status_code, words in answer.text) == (400, True), query


def test_only_own_names_and_numbers_are_answered(client: TestClient) -> None:
    others = ("evil.example", "evil.example:8765", "127.0.0.1.evil.example", "localhost.evil.example", "")
    own = ("127.0.0.1:1", "localhost:8765", "LOCALHOST", "[::1]:8765", "192.168.1.4:80")
    for host, status in (*((name, 421) for name in others), *((name, 200) for name in own)):
        assert client.get("/", headers={"host": host}).status_code == status, host


def test_nothing_can_be_changed_sent_or_overlong(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS"):
        assert client.request(method, "/").status_code == 405
    assert client.request("GET", "/", content=b"x").status_code == 413
    monkeypatch.setattr(server, "LONGEST_ADDRESS", 100)
    assert client.get("/?text=" + "x" * 90).status_code == 200
    assert client.get("/?text=" + "x" * 101).status_code == 414


def test_every_answer_forbids_scripts_from_elsewhere(client: TestClient) -> None:
    for path in ("/", "/?item=q0", "/?item=q9", "/app.js", "/nowhere", "/items.csv"):
        headers = client.get(path).headers
        assert headers["content-security-policy"].startswith(
            "default-src 'none'; script-src 'self'; style-src 'self'"
        )
        assert "unsafe" not in headers["content-security-policy"]
        assert (headers["x-content-type-options"], headers["x-frame-options"]) == ("nosniff", "DENY")
        assert headers["cross-origin-resource-policy"] == "same-origin"


def test_nothing_that_an_item_or_a_model_says_becomes_part_of_the_page(hostile: Collection) -> None:
    client = TestClient(make_app(hostile), HOME)
    paths = ["/", f"/?{Address((('tag.kind', HOSTILE[1]),)).href[1:]}", "/?text=" + quote(HOSTILE[1])]
    paths += ["/" + Address(item=f"{number} {HOSTILE[1]}").href for number in range(len(HOSTILE))]
    for path in paths:
        answer = client.get(path)
        assert answer.status_code == 200, path
        page = Tags(answer.text)
        assert page.tags["script"] == 1
        assert page.values("src").count("app.js") == 1
        assert not page.tags["iframe"] + page.tags["style"]
        assert not [name for name, _ in page.attributes if name.startswith("on") or name == "style"]
        assert not [link for link in page.values("href") + page.values("src") if ":" in link.split("?")[0]]


def test_a_port_that_is_taken_is_refused() -> None:
    first, _ = listen("127.0.0.1", 0)
    assert first.proto == socket.IPPROTO_TCP, "otherwise small answers wait, as Nagle's algorithm has it"
    with first, pytest.raises(InputError, match="cannot listen"):
        listen("127.0.0.1", first.getsockname()[1])
    with pytest.raises(InputError, match="no name or address"):
        listen("no such host", 0)


@pytest.mark.parametrize(
    "sent", [b"", b"GET /app.js HT", b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n"]
)
def test_idle_connections_lock_no_one_out(collection: Collection, sent: bytes) -> None:
    with served(collection) as address, ExitStack() as browsers:
        at = (urlsplit(address).hostname or "", urlsplit(address).port or 0)
        for _ in range(1_000):
            browsers.enter_context(socket.create_connection(at)).sendall(sent)
        connection = HTTPConnection(*at, timeout=30)
        connection.request("GET", "/app.js")
        assert connection.getresponse().status == 200
        connection.close()


def test_connections_that_never_call_are_closed(collection: Collection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "_SECONDS_TO_CALL", 0.2)
    with served(collection) as address:
        at = (urlsplit(address).hostname or "", urlsplit(address).port or 0)
        with socket.create_connection(at, timeout=20) as idle, suppress(ConnectionError):
            assert idle.recv(1) == b""


@pytest.mark.parametrize("key", ["tag.task", "id"])
def test_a_long_query_makes_no_long_page(client: TestClient, key: str) -> None:
    query = (
        "&".join(f"{key}=birds-{number}" for number in range(1_000)) + f"&{key}={'q1' if key == 'id' else 'birds'}"
    )
    page = client.get(f"/?{query}").text
    assert len(page) < 2**20
    assert "q1" in cards(page)
    assert "1,001 filters" in page


def test_large_images_are_decoded_reduced_and_one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now, most, sizes = 0, 0, []

    def draw(image: Pillow.Image, side: int) -> tuple[str, bytes]:
        nonlocal now, most
        now += 1
        most = max(most, now)
        time.sleep(0.02)
        now -= 1
        sizes.append(image.size)
        return "png", b""

    monkeypatch.setattr(server, "draw_small", draw)
    file = io.BytesIO()
    Pillow.new("L", (4_000, 4_000)).save(file, "JPEG")
    image = inspect(file.getvalue(), "0" * 64)
    images = ServedImages(lambda sha256: (image, file.getvalue()))
    with ThreadPoolExecutor(6) as threads:
        list(threads.map(images.small, map(str, range(6))))
    assert (most, set(sizes)) == (1, {(1_000, 1_000)})
    large = io.BytesIO()
    Pillow.new("1", (10_000, 6_000)).save(large, "PNG")
    with pytest.raises(ImageError, match="pixels"):
        decode(large.getvalue(), 640, MAX_REDUCED)


def test_addresses_are_written_as_they_are_read() -> None:
    text = "?tag.task=a%26b&answer=wrong:m@image&page=3&item=x%2Fy"
    assert Address.parse(text).href == text
    here = Address.parse("gold=A&tag.task=a&page=2")
    assert here.toggled("gold", "B") == "?tag.task=a&gold=B"
    assert here.toggled("tag.task", "b") == "?gold=A&tag.task=a&tag.task=b"
    assert here.toggled("gold", "A") == "?tag.task=a"
