"""Questions about images whose answers lie elsewhere or follow from rules: VQA v2, CLEVR, ViQuAE, VisDial."""

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import msgspec

from eyetest.reform.annotation import Annotation, Annotations, ClassLabel, Exchange, FileSettings
from eyetest.reform.readers.base import AnnotationFiles, first_of, image_of, most_common, name_of, reads, texts
from eyetest.tabular.table import Values, kind_of

_CLEVR_ANSWERS = {
    "truth": ("yes", "no"),
    "size": ("large", "small"),
    "material": ("rubber", "metal"),
    "shape": ("cube", "sphere", "cylinder"),
    "colour": ("gray", "red", "blue", "green", "brown", "purple", "cyan", "yellow"),
    "number": tuple(map(str, range(11))),
}  # CLEVR's closed sets of answers: a question asks for one of a set, and its answer tells which set
_LONGEST_HINT = 600
_Relevance = dict[tuple[str, int], list[float]]


class VqaSettings(FileSettings, frozen=True):
    """Which of the questions are read."""

    question_types: tuple[str, ...] = ()
    answer_types: tuple[str, ...] = ()
    closed: bool = False  # whether the answers are a closed list of classes


@reads(
    "vqa", 'VQA v2\'s pair of files: {"questions": [...]} and {"annotations": [...]}, or a table of both', VqaSettings
)
def _read_vqa(files: AnnotationFiles, settings: VqaSettings) -> Annotations:
    """VQA v2, OK-VQA, TDIUC: join questions and answers by the question's id, whichever of the files is named."""
    expected = 'VQA\'s questions, {"questions": [{"question_id": …, "question": …}]}'
    questions = files.entries(("question_id", "question"), expected)
    answers = files.find_entries(("question_id", "answers|multiple_choice_answer|answer"))
    by_question: dict[str, tuple[Values, str]] = {}
    if answers is not None:
        subsets = {path: _coco_subset(files, path) for path in answers.paths}
        by_question = {str(entry["question_id"]): (entry, subsets[path]) for path, _, entry in answers.by_file()}

    def records() -> Iterator[Annotation]:
        for question in questions:
            answered, subset = by_question.get(str(question["question_id"]), ({}, ""))
            if _is_wanted(answered, settings):
                yield _vqa_record(question, answered, subset)

    classes: tuple[ClassLabel, ...] = ()
    if settings.closed:
        labels = dict.fromkeys(record.label for record in records())
        classes = tuple(ClassLabel(name=label) for label in labels if label)
    return Annotations(records, classes)


def _coco_subset(files: AnnotationFiles, path: Path) -> str:
    """The subset of COCO that the images are from, where the file gives it: ``val2014``."""
    document = files.document(path) if kind_of(path) == ".json" else {}
    return str(document.get("data_subtype") or "") if isinstance(document, dict) else ""


def _is_wanted(answered: Values, settings: VqaSettings) -> bool:
    """Whether a question is of a wanted type; the type of one without an answer is unknown."""
    if not answered:
        return True
    types = (("question_type", settings.question_types), ("answer_type", settings.answer_types))
    return all(not wanted or answered.get(key) in wanted for key, wanted in types)


def _vqa_record(question: Values, answered: Values, subset: str) -> Annotation:
    several = first_of(answered, "answers|answer") or ()
    several = several if isinstance(several, list | tuple) else [several]
    answers = texts([answer.get("answer") if isinstance(answer, dict) else answer for answer in several])
    own = str(answered.get("multiple_choice_answer") or "").strip()
    entry = question | answered
    number = entry.get("image_id")
    image = image_of(entry["image"]) if entry.get("image") else str(entry["image_id"])
    if not entry.get("image") and subset and str(number).isdigit():
        image = f"COCO_{subset}_{int(entry['image_id']):012d}.jpg"
    tags = {name: answered[name] for name in ("question_type", "answer_type") if answered.get(name)}
    return Annotation(
        id=str(question["question_id"]),
        images=(image,),
        question=str(question["question"]).strip(),
        answers=answers or texts(own),
        label=own or most_common(answers),
        tags=tags | ({"split": question["split"]} if question.get("split") else {}),
    )


class VqaDialogueSettings(FileSettings, frozen=True):
    """How long dialogues are."""

    turns: Annotated[int, msgspec.Meta(ge=1)] = 10  # at most; an image with more questions gives several dialogues


@reads(
    "vqa-dialogue",
    "VQA v2's pair of files, the questions about an image put together into a dialogue",
    VqaDialogueSettings,
)
def _read_vqa_dialogue(files: AnnotationFiles, settings: VqaDialogueSettings) -> Annotations:
    """VQA-MT: one record per image with two questions or more."""
    of_image: dict[Any, list[Annotation]] = defaultdict(list)
    for record in _read_vqa.read(files, VqaSettings()):
        if record.label:
            of_image[record.images[0]].append(record)

    def records() -> Iterator[Annotation]:
        for image, asked in of_image.items():
            for start in range(0, len(asked), settings.turns):
                some = asked[start : start + settings.turns]
                if len(some) > 1:
                    turns = tuple(Exchange(question=r.question, answer=r.label, answers=r.answers) for r in some)
                    yield Annotation(id=some[0].id, images=(image,), turns=turns)

    return Annotations(records)


@reads("clevr", "CLEVR's questions JSON: {questions: [{question_index, image_filename, question, answer}]}")
def _read_clevr(files: AnnotationFiles, settings: FileSettings) -> Annotations:
    """One record per question, with all answers of its kind as options."""
    expected = 'CLEVR\'s JSON, {"questions": [{"question": …, "image_filename": …, "answer": …}]}'
    entries = files.entries(("question", "image_filename"), expected)
    return Annotations(lambda: (_clevr_record(name, entry) for name, entry in entries.numbered()))


def _clevr_record(name: str, entry: Values) -> Annotation:
    file, colon, number = name.rpartition(":")
    value = entry.get("answer")
    # CLEVR's own generator writes truth values and numbers; the published files have them in words.
    answer = ("yes" if value else "no") if isinstance(value, bool) else "" if value is None else str(value).strip()
    kind = next((kind for kind, answers in _CLEVR_ANSWERS.items() if answer in answers), "")
    options = _CLEVR_ANSWERS.get(kind, ())
    last = (entry.get("program") or [{}])[-1]
    tags = {"split": entry.get("split"), "question_type": first_of(last, "function|type"), "answer_type": kind}
    return Annotation(
        id=f"{file}{colon}{name_of(entry, 'question_index', number)}",
        images=(str(entry["image_filename"]),),
        question=str(entry["question"]).strip(),
        answers=texts(answer),
        options=options,
        gold=options.index(answer) if options else None,
        tags={tag: value for tag, value in tags.items() if value},
    )


class ViQuaeSettings(FileSettings, frozen=True):
    """What is given beside the question."""

    knowledge: bool = False
    """Whether the article about the image is given: viquae_wikipedia beside the questions, or a field."""


@reads(
    "viquae",
    "ViQuAE's JSON Lines: {id, input, image, output: {original_answer, answer}, wikidata_id}",
    ViQuaeSettings,
)
def _read_viquae(files: AnnotationFiles, settings: ViQuaeSettings) -> Annotations:
    """One record per question about a person or a place, in KILT's form."""
    entries = files.entries(("input", "output", "image"), "ViQuAE's JSON Lines with input, image and output")
    articles: dict[str, str] = {}
    if settings.knowledge:
        wanted = (frozenset({"text"}), frozenset({"wikidata_info"}))
        for path in (*files.files, *files.beside):
            for article in files.objects(path, wanted) if path not in entries.paths else ():
                if {"text", "wikidata_info"} <= set(article):
                    articles[str(article["wikidata_info"].get("wikidata_id"))] = _passage(article["text"])
    return Annotations(lambda: (_viquae_record(entry, articles, knowledge=settings.knowledge) for entry in entries))


def _viquae_record(entry: Values, articles: dict[str, str], *, knowledge: bool) -> Annotation:
    output = entry["output"]
    first = output[0] if isinstance(output, list) and output else output
    gold = texts(first.get("original_answer"))
    own = texts(first_of(entry, "knowledge|passage|context"))
    hint = (own[0] if own else articles.get(str(entry.get("wikidata_id")), "")) if knowledge else ""
    return Annotation(
        id=str(entry["id"]),
        images=(image_of(entry["image"]),),
        question=str(entry["input"]).strip(),
        hint=hint if len(hint) <= _LONGEST_HINT else f"{hint[:_LONGEST_HINT].rpartition(' ')[0]} …",
        answers=tuple(dict.fromkeys((*gold, *texts(first.get("answer"))))),
        label=gold[0] if gold else "",
    )


def _passage(text: Any) -> str:
    """An article's first paragraph that is more than its title."""
    paragraphs = texts(text.get("paragraph") if isinstance(text, dict) else text)
    return next((paragraph for paragraph in paragraphs if len(paragraph.split()) > 8), "")


@reads(
    "visdial", 'VisDial\'s JSON, {"data": {"questions", "answers", "dialogs"}}; dense annotations beside it are used'
)
def _read_visdial(files: AnnotationFiles, settings: FileSettings) -> Annotations:
    """One record per dialogue; questions and answers are in two lists, indexed by dialogues."""
    _, document = next(files.documents(_is_visdial), (None, None))
    if document is None:
        raise files.unlike('VisDial\'s JSON, {"data": {"questions": […], "answers": […], "dialogs": […]}}')
    data, tags = document["data"], {"split": document["split"]} if document.get("split") else {}
    relevance: _Relevance = {
        (str(entry["image_id"]), int(entry["round_id"])): entry.get("gt_relevance") or entry["relevance"]
        for _, entries in files.documents(_is_dense)
        for entry in entries
    }

    def records() -> Iterator[Annotation]:
        for dialog in data["dialogs"]:
            image = str(dialog["image_id"])
            captions = (dialog["caption"],) if dialog.get("caption") else ()
            turns = tuple(_exchanges(dialog, data, image, relevance))
            yield Annotation(id=image, images=(image,), captions=captions, turns=turns, tags=tags)

    return Annotations(records)


def _exchanges(dialog: Values, data: Values, image: str, relevance: _Relevance) -> Iterator[Exchange]:
    """The turns with an answer; in the test split the last one has none."""
    for number, turn in enumerate(dialog["dialog"], 1):
        options = [data["answers"][index] for index in turn.get("answer_options") or ()]
        if "answer" not in turn and turn.get("gt_index") is None:
            return
        apt = relevance.get((image, number), ())
        question = data["questions"][turn["question"]].strip()
        yield Exchange(
            question=question if question.endswith("?") else f"{question}?",
            answer=data["answers"][turn["answer"]] if "answer" in turn else options[turn["gt_index"]],
            options=tuple(options),
            answers=tuple(text for text, share in zip(options, apt, strict=False) if share > 0),
        )


def _is_visdial(document: Any) -> bool:
    data = document.get("data") if isinstance(document, dict) else None
    return isinstance(data, dict) and {"questions", "answers", "dialogs"} <= set(data)


def _is_dense(document: Any) -> bool:
    entry = document[0] if isinstance(document, list) and document else None
    return isinstance(entry, dict) and "round_id" in entry and ("gt_relevance" in entry or "relevance" in entry)


READER = (_read_vqa, _read_vqa_dialogue, _read_clevr, _read_viquae, _read_visdial)
