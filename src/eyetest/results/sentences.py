"""What replies are made of: a judge says of each sentence whether it describes or analyses (MMMU-Pro).

In: a run, a judge. Out: ``RUN/sentences.parquet``, one row a reply with its counts. The judge is asked through the
run's own journal, once a reply, about as many replies of each model and setting as are wanted, drawn by lot.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from hashlib import blake2b

import polars as pl

from eyetest.benchmarks import Benchmark
from eyetest.measures.length import split_sentences
from eyetest.measures.results import PROTOCOL, REPLY_TYPES, SENTENCE_KINDS
from eyetest.records import Item, Message, ModelEntry, Prompt, Words
from eyetest.results.scores import answers_of
from eyetest.running.progress import Progress
from eyetest.running.questions import Questions
from eyetest.running.session import Watch
from eyetest.runs import Run
from eyetest.runs.folder import SENTENCES
from eyetest.runs.stored import one_line_if_damaged
from eyetest.store import replacing_file

SAMPLE = 100
"""Replies of each model and setting, unless somebody wants more."""
_MOST_SENTENCES = 60
_LONGEST_SENTENCE = 400
_LABELS = {"D": "descriptive", "A": "analytical", "O": "other"}
_LABEL = re.compile(r"^\W*(\d{1,3})\W+([DAO])\b", re.MULTILINE)
_TABLE = {"request": pl.String, "judge": pl.String} | dict.fromkeys(SENTENCE_KINDS, pl.Int64)


def label_sentences(
    run: Run, benchmark: Benchmark, judge: tuple[str, ModelEntry], sample: int = SAMPLE, watch: Watch | None = None
) -> tuple[int, Progress]:
    """Have a judge label the sentences of some replies; says how many replies it labelled, and how asking went."""
    name, entry = judge
    replies = _drawn(run, benchmark, sample)
    by_item = {item.id: item for item in benchmark.take(benchmark.positions(dict.fromkeys(replies["item"])))}

    def prompts() -> Iterator[tuple[Item, Prompt]]:
        for item, text in replies.select("item", "text").iter_rows():
            yield by_item[item], sentence_prompt(split_sentences(text)[:_MOST_SENTENCES])

    said, progress = Questions(run.path, benchmark, {name: entry}).ask(name, prompts, "sentences", watch)
    rows = []
    for (request, text), response in zip(replies.select("request", "text").iter_rows(), said, strict=True):
        sentences = split_sentences(text)[:_MOST_SENTENCES]
        counts = labels(response.text or "", len(sentences)) if response is not None else None
        if counts is not None:
            rows.append({"request": request, "judge": name} | {kind: counts[kind] for kind in SENTENCE_KINDS})
    table = pl.DataFrame(rows, schema=_TABLE)
    with replacing_file(run.path / SENTENCES) as file:
        table.write_parquet(file, compression="zstd")
    return len(table), progress


def labelled(run: Run) -> pl.LazyFrame:
    """What a judge said of the replies of a run: by request, how many sentences of each kind."""
    path = run.path / SENTENCES
    if not path.exists():
        return pl.LazyFrame(schema={name: REPLY_TYPES[name] for name in ("request", *SENTENCE_KINDS)})
    return pl.scan_parquet(path, glob=False).select("request", *SENTENCE_KINDS)


def _drawn(run: Run, benchmark: Benchmark, sample: int) -> pl.DataFrame:
    """Replies in words, the same ones each time: of those that every model and setting has, the first by lot."""
    with one_line_if_damaged(run.path):
        said = (
            answers_of(run, benchmark)
            .filter(pl.col("text").str.contains(r"\w"))
            .filter(pl.col("outcome") != "failed")
        )
        rows = (
            said.select(pl.col("item", "model", *PROTOCOL, "request", "text").cast(pl.String))
            .unique("request")
            .collect()
        )
    known = rows.filter(pl.col("item").is_in([item.id for item in benchmark]))
    lot = [blake2b(item.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest() for item in known["item"]]
    keys = ["model", *PROTOCOL]
    ordered = known.with_columns(pl.Series("lot", lot, pl.String)).sort(*keys, "lot", "request")
    return ordered.group_by(keys, maintain_order=True).head(sample)


def sentence_prompt(sentences: Sequence[str]) -> Prompt:
    """What the judge is asked: the sentences alone, so that it labels and does not solve."""
    numbered = "\n".join(f"{number}. {one[:_LONGEST_SENTENCE]}" for number, one in enumerate(sentences, 1))
    words = (
        "Below are the numbered sentences of a reply to a question about a picture. Label each of them:\n"
        "D: it describes, repeating what the question says or what the picture shows.\n"
        "A: it analyses, drawing a conclusion, computing, comparing, or choosing an answer.\n"
        "O: neither (a heading, a greeting, an empty phrase).\n"
        "Write one line for each sentence, its number and its letter, such as 1 D, and nothing else.\n\n"
        f"<sentences>\n{numbered}\n</sentences>"
    )
    return Prompt((Message("user", (Words(words),)),))


def labels(words: str, sentences: int) -> Counter[str] | None:
    """How many sentences of each kind a judge found; None where it did not label every one of them once."""
    said = [(int(number), letter) for number, letter in _LABEL.findall(words)]
    if sorted(number for number, _ in said) != list(range(1, sentences + 1)):
        return None
    return Counter(_LABELS[letter] for _, letter in said)
