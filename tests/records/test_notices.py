"""Which replies are notices that a call failed, and which are answers."""

import json
from pathlib import Path
from time import process_time

import polars as pl
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from eyetest.records.notices import failure_notice, is_blank, is_expected

NOTICES = yaml.safe_load(Path(__file__).with_name("notices.yaml").read_text("utf-8"))
REPLIES = yaml.safe_load(Path(__file__).with_name("replies.yaml").read_text("utf-8"))


@pytest.mark.parametrize("text", REPLIES["notices"])
def test_notices(text: str) -> None:
    assert failure_notice(text)
    assert failure_notice(f"\n {text}\n")


@pytest.mark.parametrize("part", ["dev", "held_out", "held_out_2", "held_out_3", "held_out_4"])
def test_notices_of_many_services_in_many_languages(part: str) -> None:
    """When each list was first read, 11 of 77, 69 of 76, 22 of 46, 46 of 60 and 54 of 60 were recognised."""
    missed = [text for text in NOTICES[part] if not failure_notice(text) and not is_blank(text)]
    assert len(missed) <= 0.08 * len(NOTICES[part]), missed


@pytest.mark.parametrize("text", REPLIES["answers"])
def test_answers(text: str) -> None:
    assert failure_notice(text) == ""


@pytest.mark.parametrize("start", ["", "The sign ", "A label "])
@pytest.mark.parametrize("verb", ["reads", "says", "shows", "displays:"])
@pytest.mark.parametrize("notice", ["Server error, please try again later", "API rate limit exceeded"])
def test_a_notice_that_is_reported_is_an_answer(start: str, verb: str, notice: str) -> None:
    assert failure_notice(f'{start}{verb} "{notice}"') == ""
    assert failure_notice(f'The server {verb} "{notice}"')
    assert failure_notice(notice)


@pytest.mark.parametrize("absence", ["no", "empty", "null", "missing"])
@pytest.mark.parametrize("thing", ["content", "output", "response", "text", "answer"])
def test_placeholders_are_notices(absence: str, thing: str) -> None:
    for text in (f"[{absence} {thing}]", f"({absence.upper()} {thing} returned)", f"<{absence} {thing} from model>"):
        assert failure_notice(text), text
    assert failure_notice(f"There is {absence} {thing} in the middle of the page") == ""


@pytest.mark.parametrize(
    "notice", ["The API quota is exhausted, please recharge", "Ihr API-Schlüssel ist leider ungültig"]
)
def test_a_fence_or_a_lead_hides_no_notice(notice: str) -> None:
    for text in (
        f"```\n{notice}\n```",
        f"```text\n{notice}\n```",
        f"Answer: {notice}",
        f"**Final answer:** {notice}",
    ):
        assert failure_notice(text), text
    assert failure_notice("Answer: Service Unavailable") == ""


@pytest.mark.parametrize(
    ("text", "is_notice"),
    [
        ('{"message": "Good morning"}', False),
        ('{"status": "parked"}', False),
        ('{"detail": "two green boats", "id": 4}', False),
        ('{"error": 0.2}', False),
        ('{"code": 7, "value": 3}', False),
        ('{"status": 404}', False),
        ('{"code": 42, "title": "a ship"}', False),
        ('{"message": "No swimming"}', False),
        ('{"status": 404, "title": "Not Found"}', True),
        ('{"message": "The server is overloaded"}', True),
        ('{"detail": "Not Found"}', True),
        ('{"detail": [{"loc": ["body"], "msg": "field required"}]}', True),
        ('{"code": 5003, "message": "later"}', True),
        ('{"error": "cold start"}', True),
        ('{"success": false, "data": null}', True),
    ],
)
def test_json_is_a_notice_by_an_error_or_by_its_text(text: str, is_notice: bool) -> None:
    assert bool(failure_notice(text)) == is_notice


@pytest.mark.parametrize(
    "text",
    [
        "信息不足",
        "The content was removed from the box",
        "Der Inhalt ist unbekannt",
        "Il filtro è bloccato",
        "プラン不明",
    ],
)
def test_words_of_services_in_other_senses_are_answers(text: str) -> None:
    assert failure_notice(text) == ""


CONCEPTS = {
    "maintenance": [
        "The service is undergoing planned maintenance",
        "系统正在维护，请稍后再试",
        "サーバーはメンテナンス中です",
        "현재 시스템 점검 중입니다",
        "Der Server wird gerade gewartet",
        "Le service est en maintenance",
        "El servicio está en mantenimiento",
        "O servidor está em manutenção",
        "Il server è in manutenzione",
        "Сервер на обслуживании",
    ],
    "quota": [
        "Your quota is used up",
        "您的额度已用完",
        "クォータの上限に達しました",
        "할당량을 초과했습니다",
        "Ihr Kontingent ist aufgebraucht",
        "Votre quota est épuisé",
        "Su cuota está agotada",
        "Sua cota foi esgotada",
        "La quota è esaurita",
        "Квота исчерпана",
    ],
    "filter": [
        "The content was blocked by the safety filter",
        "内容已被安全策略过滤",
        "コンテンツがポリシーに違反しています",
        "콘텐츠 정책 위반으로 차단되었습니다",
        "Der Inhalt verstößt gegen die Richtlinien",
        "Le contenu a été bloqué par le filtre",
        "El contenido fue bloqueado por el filtro",
        "O conteúdo foi bloqueado pelo filtro",
        "Il contenuto è stato bloccato dal filtro",
        "Контент заблокирован фильтром",
    ],
}


@pytest.mark.parametrize("concept", CONCEPTS)
def test_each_language_has_each_concept(concept: str) -> None:
    missed = [text for text in CONCEPTS[concept] if not failure_notice(text)]
    assert missed == []


def test_kinds() -> None:
    expected = {"Error: rate limit exceeded": "rate-limit", "Content filtered": "content-filter"}
    expected |= {"Request timed out.": "timeout", "502 Bad Gateway": "server", "Error: invalid API key": "auth"}
    assert {text: failure_notice(text) for text in expected} == expected


@pytest.mark.parametrize("text", ["", " \n\t", "\u200b\ufeff", "\u00ad\u2060", "\u3164\u2800", "</s><|im_end|>"])
def test_blank_replies(text: str) -> None:
    assert is_blank(text)


@pytest.mark.parametrize("text", ["A", "\u200bA", "0", "-", "。", "<b>", "<think></think>", "é"])
def test_replies_that_say_something(text: str) -> None:
    assert not is_blank(text)


@given(st.text(st.characters(), max_size=800))
def test_any_text_is_read(text: str) -> None:
    assert isinstance(failure_notice(text), str)
    assert is_blank(text) <= (failure_notice(text) == "")


@pytest.mark.parametrize(
    "part", ["error ", "server ", "(", "'", "错误", "a.b", "/1", "<", "{", "no response ", "`", "```\n \n"]
)
def test_work_on_a_reply_is_bounded(part: str) -> None:
    began = process_time()
    for length in (400, 600, 20_000, 1_000_000):
        failure_notice((part * length)[:length])
        is_blank((part * length)[:length])
    assert process_time() - began < 2


@pytest.mark.science
def test_published_replies_are_answers(shared: Path) -> None:
    """Of 80,000 replies only twelve are notices, in which a client says that there is no text."""
    found = []
    for name in ("mathvista", "mmmu_pro"):
        replies = pl.read_parquet(shared / f"data/{name}/predictions.parquet").get_column("raw_output")
        found += [reply for reply in replies if failure_notice(reply or "")]
    assert [reply for reply in found if not reply.startswith('{"error": "Invalid operation: The `response.')] == []
    assert len(found) == 12
    for path in (shared / "data/replies").glob("*.jsonl"):
        assert not any(failure_notice(json.loads(line)["reply"] or "") for line in path.read_text().splitlines())


def test_what_an_item_asks_for_is_an_answer() -> None:
    refused = [
        row["reply"]
        for row in NOTICES["expected"]
        if failure_notice(row["reply"]) and not is_expected(row["reply"], [row["question"], *row["options"]])
    ]
    assert len(refused) <= 0.05 * len(NOTICES["expected"]), refused


@pytest.mark.parametrize(
    ("reply", "texts", "expected"),
    [
        ("Overloaded", ["What is the state of the container?", "Overloaded", "Empty"], True),
        ("The code is 429 Too Many Requests", ["Which?", "404 Not Found", "429 Too Many Requests"], True),
        ("ValueError: bad", ["What is the output of the code?"], True),
        ("Out of memory", ["What does the dialog say?"], True),
        ("The server is overloaded, please try again later", ["What does the dialog say?"], False),
        ("Overloaded", ["Which animal is it?", "a cat", "a dog"], False),
        ("Internal error", ["Which animal is it?", "an error", "a dog"], False),
    ],
)
def test_an_item_decides_what_a_reply_may_be(reply: str, texts: list[str], expected: bool) -> None:
    assert failure_notice(reply)
    assert is_expected(reply, texts) == expected
