"""Benchmarks of videos, sounds and documents: their media are recognised, kept, and never asked about blind."""

import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import eyetest as et
from eyetest.benchmarks import Benchmark, export_benchmark, import_benchmark
from eyetest.benchmarks.media import media_of_value, names_medium
from eyetest.commands.gathering import gather
from eyetest.integrations.recording import Recorder
from eyetest.records import Media
from eyetest.reports.report import Material, tell
from tests.conftest import png
from tests.strategies import benchmarks, write
from tests.support.refusals import refusal

WAVE = b"RIFF\x24\x00\x00\x00WAVEfmt "
FOUR = ["a cat", "a dog", "a bird", "a fish"]
Rows = list[dict[str, Any]]


def lettered(number: int) -> dict[str, Any]:
    return dict(zip("ABCD", FOUR, strict=True)) | {"answer": "ABCD"[number % 4]}


def listed(number: int) -> dict[str, Any]:
    return {"options": FOUR, "answer": FOUR[number % 4]}


def vlmevalkit_video(number: int) -> dict[str, Any]:
    return {"index": number, "video": f"clip{number // 2}", "question": f"What is in {number}?", **lettered(number)}


def video_mme(number: int) -> dict[str, Any]:
    name = f"xY-{number // 3}"
    about = {"video_id": f"{number // 3:03}", "duration": "short", "domain": "Knowledge", "sub_category": "History"}
    about |= {"url": f"https://www.youtube.com/watch?v={name}", "videoID": name, "question_id": f"{number}-1"}
    return about | {"task_type": "Counting", "question": f"How many in {number}?", **listed(number)}


def mvbench(number: int) -> dict[str, Any]:
    return {"video": f"{number}.webm", "question": f"Which {number}?", **listed(number), "start": 0.5, "end": 2.5}


def mmvu(number: int) -> dict[str, Any]:
    about = {"id": f"validation_{number}", "video_path": f"./videos/Art/{number}.mp4", "question_type": "open-ended"}
    return about | {"question": f"What, {number}?", "answer": "a vase", "metadata": {"subject": "Art"}}


def daily_omni(number: int) -> dict[str, Any]:
    about = {"video_id": f"v{number}", "video_category": "Howto", "video_duration": "30s", "Type": "Inference"}
    return about | {"Question": f"What is heard in {number}?", **listed(number)}


def mmar(number: int) -> dict[str, Any]:
    about = {"id": f"m{number}", "audio_path": f"./audio/{number}.wav", "modality": "sound", "category": "Signal"}
    about |= {"url": "https://www.youtube.com/watch?v=abc", "source": "youtube", "timestamp": "00:01,00:09"}
    return about | {"question": f"Who speaks in {number}?", **listed(number)}


def longdoc(number: int) -> dict[str, Any]:
    about = {"doc_id": f"report {number // 4}.v1.pdf", "doc_type": "Report", "evidence_pages": "[5]"}
    return about | {"question": f"What is on page {number}?", "answer": "42", "answer_format": "Int"}


def hub_audio(number: int) -> dict[str, Any]:
    sound = {"bytes": WAVE + bytes([number]), "path": None}
    return {"index": number, "audio": sound, "question": f"What sounds in {number}?", **listed(number)}


def chat(number: int) -> dict[str, Any]:
    parts = [{"type": "text", "text": "Listen."}, {"type": "input_audio", "input_audio": {"data": f"aGk{number}"}}]
    return {"id": str(number), "question": f"What, {number}?", "messages": [{"role": "user", "content": parts}],
            "answer": "a bell"}  # fmt: skip


def tsv(path: Path, rows: Rows) -> Path:
    lines = ["\t".join(rows[0]), *("\t".join(map(str, row.values())) for row in rows)]
    path.write_text("\n".join(lines) + "\n")
    return path


def jsonl(path: Path, rows: Rows) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def parquet(path: Path, rows: Rows) -> Path:
    pq.write_table(pa.Table.from_pylist(rows), path)
    return path


LAYOUTS: dict[str, tuple[Callable[[int], dict[str, Any]], Callable[[Path, Rows], Path], str, dict[str, int]]] = {
    "VLMEvalKit video": (vlmevalkit_video, tsv, "tsv", {"video": 6}),
    "Video-MME": (video_mme, parquet, "parquet", {"video": 4}),
    "MVBench": (mvbench, parquet, "parquet", {"video": 12}),
    "MMVU": (mmvu, jsonl, "jsonl", {"video": 12}),
    "Daily-Omni": (daily_omni, jsonl, "jsonl", {"video": 12}),
    "MMAR": (mmar, jsonl, "jsonl", {"audio": 12}),
    "MMLongBench-Doc": (longdoc, parquet, "parquet", {"document": 3}),
    "sounds of the hub": (hub_audio, parquet, "parquet", {"audio": 12}),
    "a chat": (chat, jsonl, "jsonl", {"audio": 12}),
}


def imported(folder: Path, layout: str) -> Benchmark:
    row, put, ending, _ = LAYOUTS[layout]
    return import_benchmark(put(folder / f"source.{ending}", [row(n) for n in range(12)]), folder / "bench")[0]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_media_of_a_layout_are_counted_and_kept(layout: str, tmp_path: Path) -> None:
    bench = imported(tmp_path, layout)
    assert (bench.manifest.counts.media, bench.manifest.counts.images) == (LAYOUTS[layout][3], 0)
    assert all(len(item.media) == 1 for item in bench)
    kind = next(iter(LAYOUTS[layout][3]))
    assert refusal(et.run, bench, models={"m": "scripted:"}, to=tmp_path / "run") == (
        f"--condition image: 12 of 12 items have {'an audio file' if kind == 'audio' else f'a {kind}'}, "
        "which is not sent (only images are); ask without it: --condition no-image"
    )
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("condition", ["image", "no-question", "no-image,image", "modality=video", "image+cot"])
def test_no_condition_promises_a_video(condition: str, tmp_path: Path) -> None:
    bench = imported(tmp_path, "MVBench")
    assert "not sent" in refusal(et.run, bench, models={"m": "scripted:"}, condition=condition, to=tmp_path / "run")
    assert "not sent" in refusal(et.run, bench, models={"m": "scripted:"}, condition=condition, dry_run=True)
    assert "not sent" in refusal(et.show, bench, "0", condition="image")


def test_questions_alone_are_asked_and_labelled_so(tmp_path: Path) -> None:
    bench = imported(tmp_path, "VLMEvalKit video")
    run = et.run(bench, models={"m": "scripted:right=1"}, condition="no-image,options-only", to=tmp_path / "run")
    assert set(run.frame["modality"]) == {"no-image", "nothing"}
    assert set(et.measure("accuracy", run).frame["modality"]) == {"no-image", "nothing"}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("format_name", ["vlmevalkit", "parquet", "jsonl", "lmms-eval"])
def test_media_survive_export_and_import(layout: str, format_name: str, tmp_path: Path) -> None:
    bench = imported(tmp_path, layout)
    to = tmp_path / {"vlmevalkit": "out.tsv", "parquet": "out.parquet"}.get(format_name, "out")
    export_benchmark(bench, format_name, to)
    assert list(import_benchmark(to, tmp_path / "again")[0]) == list(bench)


REFERENCES = st.one_of(
    st.sampled_from(
        ["a.mp4", "clip 1", "7", "none", "[1]", "yes", "https://youtu.be/x", "sha256:00", "a\nb", "x.pdf"]
    ),
    st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12),
)
MEDIA = st.lists(
    st.builds(Media, st.sampled_from(["video", "audio", "document"]), REFERENCES), max_size=3, unique=True
)


@pytest.mark.parametrize("format_name", ["vlmevalkit", "parquet", "jsonl"])
def test_any_media_survive_export_and_import(format_name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    @settings(max_examples=15)
    @given(benchmarks(options=st.sampled_from(FOUR)), st.data())
    def holds(drawn: Any, data: st.DataObject) -> None:
        folder = tmp_path_factory.mktemp("media")
        with_media = [(name, fields | {"media": tuple(data.draw(MEDIA))}, images) for name, fields, images in drawn]
        bench = write(folder / "bench", with_media)
        to = folder / {"vlmevalkit": "out.tsv", "parquet": "out.parquet"}.get(format_name, "out")
        export_benchmark(bench, format_name, to)
        assert list(import_benchmark(to, folder / "again")[0]) == list(bench)

    holds()


def mixed_rows(folder: Path) -> Rows:
    """Items of a mixed benchmark: some with an image, some with a video, some with text alone."""
    (folder / "a.png").write_bytes(png())
    rows: Rows = []
    for number in range(12):
        row = {"id": str(number), "question": f"What is {number}?", "image": None, "video": None, **listed(number)}
        row |= {0: {"image": "a.png"}, 1: {"video": f"{number}.mp4"}, 2: {}}[number % 3]
        rows.append(row)
    return rows


def test_a_mixed_benchmark_keeps_what_each_item_has(tmp_path: Path) -> None:
    bench, _ = import_benchmark(jsonl(tmp_path / "mixed.jsonl", mixed_rows(tmp_path)), tmp_path / "bench")
    assert [(len(item.images), len(item.media)) for item in bench] == [(1, 0), (0, 1), (0, 0)] * 4
    assert "4 of 12 items have a video" in refusal(et.run, bench, models={"m": "scripted:"}, to=tmp_path / "run")


def test_items_without_an_image_are_labelled_by_what_is_sent(tmp_path: Path) -> None:
    rows = [row for row in mixed_rows(tmp_path) if not row["video"]]
    bench, _ = import_benchmark(jsonl(tmp_path / "mixed.jsonl", rows), tmp_path / "bench")
    run = et.run(bench, models={"m": "scripted:right=1,blind=0"}, condition="image,no-image", to=tmp_path / "run")
    labels = {(row["item"], row["modality"]) for row in run.plan().to_pylist()}
    with_image = {item.id for item in bench if item.images}
    assert labels == {(name, "image") for name in with_image} | {(item.id, "no-image") for item in bench}
    gain = et.measure("gain", run)
    assert gain.frame["n"].to_list() == [4]
    assert any("4 of 8 items of mixed have no image" in note for note in gain.notes)


def test_a_question_that_cannot_be_left_out_beside_nothing_is_asked_by_its_options(tmp_path: Path) -> None:
    bench, _ = import_benchmark(jsonl(tmp_path / "t.jsonl", [{"question": "?", **listed(1)}]), tmp_path / "bench")
    run = et.run(bench, models={"m": "scripted:right=1"}, condition="no-question,image", to=tmp_path / "run")
    assert set(run.frame["modality"]) == {"nothing", "no-image"}


@pytest.mark.parametrize(
    "rows",
    [
        [{"question": "Who wrote report.pdf?", "answer": "a clip.mp4", "category": "video"}],
        [{"question": "What is shown?", "options": ["a.mp4", "b.wav"], "answer": "a.mp4"}],
        [{"question": f"Q{n}?", "answer": "4", "source": "exam.pdf", "doc_id": n} for n in range(5)],
        [{"question": f"Q{n}?", "answer": "4", "context": "A long text.", "doc_id": f"d{n}"} for n in range(5)],
        [
            {
                "question": "Q?",
                "answer": "4",
                "video_type": "short",
                "audio": False,
                "document": "It was a dark night.",
            }
        ],
        [{"question": "Q?", "answer": "4", "audio": "He says that it was raining, as always.", "video": "no"}],
        [{"question": "Q?", "answer": "4", "explanation": "manual.pdf", "note": "see clip.mp4 for more"}],
    ],
)
def test_a_text_that_only_mentions_a_file_names_no_medium(rows: Rows, tmp_path: Path) -> None:
    bench, _ = import_benchmark(jsonl(tmp_path / "t.jsonl", rows), tmp_path / "bench")
    assert not any(item.media for item in bench)
    assert [item.tags for item in bench] == [
        {name: value for name, value in row.items() if name not in ("question", "answer", "options")} for row in rows
    ]


@pytest.mark.parametrize("column", ["video_id", "doc_id", "video", "clip", "pdf_path", "youtube_id"])
def test_a_key_beside_images_stays_a_tag(column: str, tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(png())
    value = "whole.pdf" if "pdf" in column or "doc" in column else "scene_7"
    rows = [{"image": "a.png", "question": f"Q{n}?", "answer": "4", column: value} for n in range(4)]
    bench, _ = import_benchmark(jsonl(tmp_path / "t.jsonl", rows), tmp_path / "bench")
    assert [(item.media, item.tags) for item in bench] == [((), {column: value})] * 4
    run = et.run(bench, models={"m": "scripted:right=1"}, to=tmp_path / "run")
    assert set(run.frame["modality"]) == {"image"}


def test_the_user_decides_which_columns_hold_media(tmp_path: Path) -> None:
    rows = [{"question": f"Q{n}?", "answer": "4", "video": f"{n}.mp4", "scene": f"s{n}"} for n in range(4)]
    source = jsonl(tmp_path / "t.jsonl", rows)
    kept = et.import_file(source, to=tmp_path / "tag", map="tags=video")
    assert "media" not in kept.facts
    assert Benchmark(tmp_path / "tag")["0"].tags == {"video": "0.mp4", "scene": "s0"}
    et.import_file(source, to=tmp_path / "both", map="video=video+scene")
    assert Benchmark(tmp_path / "both")["1"].media == (Media("video", "1.mp4"), Media("video", "s1"))
    noted = et.import_file(source, to=tmp_path / "usual")
    assert "4 videos (not read)" in repr(noted)
    assert any("media: video from video" in note for note in noted.notes)


def test_a_column_that_the_user_maps_keeps_every_value(tmp_path: Path) -> None:
    names = ["evening news", "clip7", "clips/a.mp4", "none"]
    rows = [{"question": f"What is in {n}?", "about": name, **listed(n)} for n, name in enumerate(names)]
    path = jsonl(tmp_path / "shows.jsonl", rows)
    et.import_file(path, to=tmp_path / "bench", map="video=about")
    media = [[medium.reference for medium in item.media] for item in Benchmark(tmp_path / "bench")]
    assert media == [["evening news"], ["clip7"], ["clips/a.mp4"], []]


def test_numbered_columns_and_lists_give_several_media(tmp_path: Path) -> None:
    rows = [
        {"question": "Same?", "answer": "no", "video_1": "a.mp4", "video_2": "b.mp4", "audios": ["c.wav", "d.mp3"]}
    ]
    bench, _ = import_benchmark(jsonl(tmp_path / "t.jsonl", rows), tmp_path / "bench")
    assert [(media.kind, media.reference) for media in next(iter(bench)).media] == [
        ("video", "a.mp4"), ("video", "b.mp4"), ("audio", "c.wav"), ("audio", "d.mp3"),
    ]  # fmt: skip


def test_a_video_among_images_is_no_image(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(png())
    rows: Rows = [
        {"question": "Q?", "answer": "4", "images": ["a.png", "b.mp4"]},
        {"question": "R?", "answer": "5", "images": "c.MP4"},
    ]
    bench, _ = import_benchmark(jsonl(tmp_path / "t.jsonl", rows), tmp_path / "bench")
    assert [(len(item.images), item.media) for item in bench] == [
        (1, (Media("video", "b.mp4"),)), (0, (Media("video", "c.MP4"),)),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("value", "kind", "reference"),
    [
        ("dir/My Clip.MOV", None, ""),
        ("dir/Clip.MOV", "video", "dir/Clip.MOV"),
        ("https://h.org/a.webm?token=1#t=3", "video", "https://h.org/a.webm?token=1#t=3"),
        ("https://youtu.be/abc", "video", "https://youtu.be/abc"),
        ("https://h.org/page", None, ""),
        ({"path": "x.flac", "bytes": None}, "audio", "x.flac"),
        ({"array": [0.1, 0.2], "sampling_rate": 16000, "path": "y"}, "audio", "y"),
        ({"bytes": b"%PDF-1.7 ...", "path": "scan"}, "document", "scan"),
        ({"bytes": b"\x89PNG\r\n\x1a\n", "path": "p.png"}, None, ""),
        ({"type": "video", "video": "clip"}, "video", "clip"),
        ({"type": "video_url", "video_url": {"url": "https://h.org/v"}}, "video", "https://h.org/v"),
        ({"type": "audio", "value": "sound"}, "audio", "sound"),
        ({"video": "clip"}, "video", "clip"),
        ({"type": "file", "file": {"filename": "a.pdf", "file_data": "JVBERi0"}}, "document", "a.pdf"),
        ({"type": "image_url", "image_url": {"url": "https://h.org/a.mp4.png"}}, None, ""),
        ({"type": "text", "text": "a.mp4"}, None, ""),
        ({"inline_data": {"mime_type": "video/mp4", "data": "AAAA"}}, "video", None),
        ('["a.mp4"]', "video", "a.mp4"),
        ('{"path": "b.ogg"}', "audio", "b.ogg"),
        ("data:video/mp4;base64,AAAA", "video", None),
        ("data:image/png;base64,AAAA", None, ""),
        ("report.pdf", "document", "report.pdf"),
        ("version 2.doc is here", None, ""),
        (True, None, ""), (3.5, None, ""), ({}, None, ""), ("", None, ""), ([None, []], None, ""),
    ],
)  # fmt: skip
def test_values_say_what_they_refer_to(value: Any, kind: str | None, reference: str | None) -> None:
    media = media_of_value(value)
    assert [one.kind for one in media] == ([kind] if kind else [])
    if media and reference is None:
        assert media[0].reference.startswith("sha256:")
    elif media:
        assert media[0].reference == reference


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        ("video", "certain"), ("Video Path", "certain"), ("audioFile", "certain"), ("pdf_url", "certain"),
        ("wav", "certain"), ("clue_video_path", "certain"), ("doc_id", "likely"), ("videoID", "likely"),
        ("clip", "likely"), ("youtube_id", "likely"), ("document", None), ("video_duration", None),
        ("audio content", None), ("answer_video_path", None), ("music", None), ("subtitle_path", None),
        ("docking_file", None), ("category", None), ("mp3", "certain"), ("video_2", "certain"),
    ],
)  # fmt: skip
def test_names_of_columns_are_understood(column: str, expected: str | None) -> None:
    found = names_medium(column)
    assert (found.strength if found else None) == expected


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
                    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20))  # fmt: skip
def test_any_value_can_be_looked_at(value: Any) -> None:
    for named in (None, "video"):
        assert all(media.reference for media in media_of_value(value, named))


def test_answers_of_another_harness_are_not_called_image(tmp_path: Path) -> None:
    bench = imported(tmp_path, "MVBench")
    rows = [{"item": item.id, "model": "m", "text": "A"} for item in bench]
    brought = et.import_file(jsonl(tmp_path / "a.jsonl", rows), bench=bench, to=tmp_path / "run")
    assert any("labelled video" in note for note in brought.notes)
    run = et.Run(tmp_path / "run")
    assert {row["modality"] for row in run.plan().to_pylist()} == {"video"}
    et.import_file(jsonl(tmp_path / "a.jsonl", rows), bench=bench, fill="modality=no-image", to=tmp_path / "blind")
    labels = {row["modality"] for row in et.Run(tmp_path / "blind").plan().to_pylist()}
    assert labels == {"no-image"}


def imported_labels(folder: Path, rows: Rows, **options: Any) -> tuple[dict[str, set[str]], tuple[str, ...]]:
    """By modality the items that imported answers of one model are about, and the notes."""
    bench, _ = import_benchmark(jsonl(folder / "bench.jsonl", rows), folder / "bench")
    answers = [{"item": item.id, "model": "m", "text": "A"} for item in bench]
    brought = et.import_file(jsonl(folder / "answers.jsonl", answers), bench=bench, to=folder / "run", **options)
    labels: dict[str, set[str]] = {}
    for row in et.Run(folder / "run").plan().to_pylist():
        labels.setdefault(row["modality"], set()).add(row["item"])
    return labels, tuple(brought.notes)


def test_answers_to_text_items_among_others_with_images_are_labelled_as_a_run_labels_them(tmp_path: Path) -> None:
    labels, notes = imported_labels(tmp_path, [row for row in mixed_rows(tmp_path) if not row["video"]])
    assert {modality: len(items) for modality, items in labels.items()} == {"image": 4, "no-image": 4}
    assert any("4 answers are labelled no-image" in note for note in notes)


def test_answers_to_a_benchmark_without_any_image_say_that_their_label_is_a_default(tmp_path: Path) -> None:
    """Its images may only be missing from the file, so nothing else is concluded."""
    rows = [{"id": str(number), "question": f"What, {number}?", **listed(number)} for number in range(4)]
    labels, notes = imported_labels(tmp_path, rows)
    assert {modality: len(items) for modality, items in labels.items()} == {"image": 4}
    assert any("4 answers are labelled image by default, but no item has one" in note for note in notes)
    said = "labelled image by default, but no item has one"
    assert any(said in note for note in et.measure("accuracy", tmp_path / "run").notes)
    declared, silent = imported_labels(fresh_folder(tmp_path), rows, fill="modality=no-image")
    assert list(declared) == ["no-image"]
    assert not any("labelled" in note for note in silent)
    assert not any("labelled" in note for note in et.measure("accuracy", tmp_path / "again/run").notes)


@pytest.mark.parametrize(("layout", "label", "has"), [("MMAR", "image", "audio"), ("MVBench", "audio", "video")])
def test_answers_are_not_labelled_by_a_medium_that_their_items_lack(
    layout: str, label: str, has: str, tmp_path: Path
) -> None:
    bench = imported(tmp_path, layout)
    answers = jsonl(tmp_path / "a.jsonl", [{"item": item.id, "model": "m", "text": "A"} for item in bench])
    said = refusal(et.import_file, answers, bench=bench, fill=f"modality={label}", to=tmp_path / "run")
    assert f"has no {label}, but {has}" in said
    assert not (tmp_path / "run").exists()


def fresh_folder(folder: Path) -> Path:
    (inside := folder / "again").mkdir()
    return inside


@pytest.mark.parametrize("layout", ["MVBench", "MMAR", "MMLongBench-Doc"])
def test_no_sentence_speaks_of_images_where_there_are_none(layout: str, tmp_path: Path) -> None:
    bench = imported(tmp_path, layout)
    audit = et.audit(bench, page=tmp_path / "audit.html")
    sentences = [words for finding in audit.findings for words in (finding.title, finding.detail)]
    card = et.export_file(bench, format="card", to=tmp_path / "card")
    readme = Path(card.facts["card"]).read_text()
    words = [line for line in readme.splitlines() if "image" in line]
    assert not [words for words in sentences if "image" in words]
    assert not words
    task = {"video": "video-text-to-text", "audio": "audio-text-to-text", "document": "document-question-answering"}
    assert f"- {task[next(iter(LAYOUTS[layout][3]))]}" in readme
    assert "vision-language" not in readme


def test_two_questions_about_other_videos_are_no_repeat(tmp_path: Path) -> None:
    rows = [{"video": f"{n % 3}.mp4", "question": "What happens?", **listed(0)} for n in range(6)]
    bench, _ = import_benchmark(jsonl(tmp_path / "t.jsonl", rows), tmp_path / "bench")
    repeats = [
        found for found in et.audit(bench, probe="duplicate-items").findings if found.kind == "duplicate-items"
    ]
    assert [len(found.groups) for found in repeats] == [3]


def test_items_keep_their_media_through_every_step(tmp_path: Path) -> None:
    bench = imported(tmp_path, "MVBench")
    kept = {item.id: item.media for item in bench}
    (tmp_path / "r.yaml").write_text("stages: [{select: {per: start, count: 12}}]")
    grown = et.subset(bench, option_count=3, to=tmp_path / "part").benchmark
    assert {item.id: item.media for item in grown} == kept
    refined = et.refine(
        bench, recipe=tmp_path / "r.yaml", models={"m": "scripted:"}, to=tmp_path / "refined"
    ).benchmark
    assert {item.id: item.media for item in refined} == kept
    pooled = et.pool([f"x={bench.path}"], to=tmp_path / "pool").benchmark
    assert [item.media for item in pooled] == list(kept.values())
    assert [item.media for item in Benchmark(bench.path)] == list(kept.values())


def test_the_order_of_rows_does_not_matter(tmp_path: Path) -> None:
    rows = mixed_rows(tmp_path)
    expected = {row["id"]: (bool(row["image"]), bool(row["video"])) for row in rows}
    random.Random(1).shuffle(rows)
    bench, _ = import_benchmark(jsonl(tmp_path / "mixed.jsonl", rows), tmp_path / "bench")
    assert {item.id: (bool(item.images), bool(item.media)) for item in bench} == expected


def test_a_recorded_harness_names_the_medium_that_it_showed(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path, "m")
    request = recorder.request("task", "1", "What happens?\nA. rain\nB. snow", ["/data/1.mp4"], "A")
    recorder.add("task", request, "A")
    run = recorder.run("task")
    assert [row["modality"] for row in run.plan().to_pylist()] == ["video"]
    assert Benchmark(tmp_path / "task/benchmark")["1"].media == (Media("video", "/data/1.mp4"),)


def test_file_names_with_spaces_are_media_where_every_cell_is_one(tmp_path: Path) -> None:
    rows = [
        {"question": f"Is it loud, number {n}?", "file_name": f"Old door, {n}.wav", "answer": "yes"} for n in range(6)
    ]
    bench, _ = import_benchmark(jsonl(tmp_path / "sounds.jsonl", rows), tmp_path / "bench")
    assert [item.media[0].reference for item in bench] == [row["file_name"] for row in rows]
    rows[2]["file_name"] = "not known"
    bench, _ = import_benchmark(jsonl(tmp_path / "tags.jsonl", rows), tmp_path / "other")
    assert not any(item.media for item in bench)


@pytest.mark.parametrize(("layout", "word"), [("MVBench", "video"), ("MMAR", "audio")])
def test_no_figure_speaks_of_images_where_there_are_none(layout: str, word: str, tmp_path: Path) -> None:
    bench = imported(tmp_path, layout)
    models, modalities = ("strong", "weak"), ("", "no-image")
    answers = [
        {"item": item.id, "model": model, "text": "AB"[not modality or number % 2], "modality": modality or word}
        for number, item in enumerate(bench)
        for model in models
        for modality in modalities
    ]
    et.import_file(jsonl(tmp_path / "answers.jsonl", answers), bench=bench, to=tmp_path / "run")
    report = tell(Material(gather([tmp_path / "run"])))
    drawn = {one.figure.name: one for one in report.drawn}
    assert "modality" in drawn
    texts = [text for one in report.drawn for text in (one.figure.title, one.figure.reading)]
    texts += ElementTree.fromstring(drawn["modality"].svg).itertext()
    speaking = [text for text in texts if re.search(r"(?<![\w-])images?\b", text)]
    assert speaking == []
    assert f"with {word}" in texts
