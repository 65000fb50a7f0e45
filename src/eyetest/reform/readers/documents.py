"""Documents of linked parts: VisDial's dialogues, FUNSD's forms, wikiHow, MOCHEG's claims, COCO's objects."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from eyetest.reform.annotation import Annotation, Annotations, ClassLabel, Exchange, FileSettings, Region
from eyetest.reform.readers.base import AnnotationFiles, first_of, name_of, reads, texts
from eyetest.tabular.table import Values

_Relevance = dict[tuple[str, int], list[float]]
_SPLITS = {"training_data": "train", "testing_data": "test"}
_CLAIM, _LABEL = "Claim", "cleaned_truthfulness"
_EVIDENCE_IMAGES = "DOCUMENT#|evidence_id"
_PARAGRAPHS = 3  # of the evidence that are shown


@reads(
    "visdial", 'VisDial\'s JSON, {"data": {"questions", "answers", "dialogs"}}; dense annotations beside it are used'
)
def _read_visdial(files: AnnotationFiles, settings: FileSettings) -> Annotations:
    """One record per dialogue; questions and answers are in two lists, indexed by dialogues."""
    expected = 'VisDial\'s JSON, {"data": {"questions": […], "answers": […], "dialogs": […]}}'
    path, _, data = next(files.entries(("questions", "answers", "dialogs"), expected).by_file())
    tags = {"split": split} if (split := files.top(path).get("split")) else {}
    relevance: _Relevance = {
        (str(entry["image_id"]), int(entry["round_id"])): entry.get("gt_relevance") or entry["relevance"]
        for entry in files.find_entries(("round_id", "gt_relevance|relevance")) or ()
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


@reads("funsd", 'FUNSD\'s JSON, one file a form: {"form": [{id, text, label, linking: [[key, value], …]}]}')
def _read_funsd(files: AnnotationFiles, settings: FileSettings) -> Annotations:
    """One record per key of a form; its answer is all that the key is linked to, in the order of the links."""
    expected = 'FUNSD\'s JSON, one file a form: {"form": [{"id": …, "text": …, "linking": …}]}'
    forms = files.entries(("form",), expected)
    return Annotations(lambda: (key for path, _, form in forms.by_file() for key in _form_keys(path, form["form"])))


def _form_keys(path: Path, form: list[Values]) -> Iterator[Annotation]:
    written = {block["id"]: str(block.get("text") or "") for block in form}
    values = {block["id"] for block in form if block.get("label") == "answer"}
    keys = [block for block in form if block.get("label") == "question"]
    times = Counter(written[key["id"]].strip() for key in keys)
    split = next((_SPLITS[part] for part in reversed(path.parts) if part in _SPLITS), "")
    for key in keys:
        linked = dict.fromkeys(end for pair in key.get("linking") or () for end in pair if end in values)
        question = written[key["id"]].strip()
        tags = {"split": split, "same_keys": times[question] if times[question] > 1 else 0}
        yield Annotation(
            id=f"{path.stem}:{key['id']}",
            images=(f"{path.stem}.png",),
            question=question,
            answers=texts(" ".join(written[block] for block in linked if written[block])),
            tags={tag: value for tag, value in tags.items() if value},
        )


@reads(
    "wikihow", "wikiHow articles: {methods: [{name, steps: [{headline, img}]}]}, or {step_list, image_url} by problem"
)
def _read_wikihow(files: AnnotationFiles, settings: FileSettings) -> Annotations:
    """One record per step that has an image, with all steps of its method."""
    expected = 'wikiHow articles, {"methods": [{"name": …, "steps": [{"headline": …, "img": …}]}]}'
    articles = files.entries(("methods|step_list",), expected, beside=False)

    def records() -> Iterator[Annotation]:
        for path, number, article in articles.by_file():
            # A file that is called as in all other folders takes its folder's name.
            name = path.parent.name if path.stem.lower() == "wikihow" else path.stem
            key = name_of(article, "key|file_id|id", f"{name}-{number}" if number > 1 else name)
            yield from _steps(key, article)

    return Annotations(records)


def _steps(key: str, article: Values) -> Iterator[Annotation]:
    if "step_list" in article:
        images = dict(enumerate(article.get("image_url") or ()))
        steps = [
            {"headline": step, "img": PurePosixPath(str(images.get(number) or "")).name}
            for number, step in enumerate(article["step_list"])
        ]
        yield from _imaged(key, first_of(article, "problem_title|article_title"), steps)
        return
    for number, method in enumerate(article["methods"], 1):
        steps = [step | {"img": _image(key, step)} for step in method.get("steps") or ()]
        yield from _imaged(f"{key}:{number}", method.get("name") or first_of(article, "title|goal"), steps)


def _image(key: str, step: Values) -> str:
    """Images of VGSI are named like their steps; ``img`` gives their origin."""
    if step.get("step_id") and step.get("img"):
        return f"{step['step_id']}.png"
    return f"{key}/image/{step['img']}" if step.get("img") else ""


def _imaged(key: str, title: Any, steps: list[Values]) -> Iterator[Annotation]:
    headlines = tuple(str(step["headline"]).strip() for step in steps)
    for number, step in enumerate(steps):
        if step["img"]:
            yield Annotation(
                id=name_of(step, "step_id", f"{key}:{number + 1}"),
                images=(step["img"],),
                question=str(title or "").strip(),
                steps=headlines,
                gold=number,
            )


@reads("mocheg", "MOCHEG's Corpus2.csv (claim_id, Claim, Evidence, cleaned_truthfulness) and img_evidence_qrels.csv")
def _read_mocheg(files: AnnotationFiles, settings: FileSettings) -> Annotations:
    """One record per claim with its first image; the file has a row for each paragraph of its evidence."""
    expected = f"MOCHEG's Corpus2.csv with columns claim_id, {_CLAIM}, {_LABEL}"
    claims: dict[str, list[Values]] = {}
    for row in files.entries(("claim_id", _CLAIM, _LABEL), expected):
        claims.setdefault(str(row["claim_id"]), []).append(row)
    relevant = _evidence_images(files)

    def records() -> Iterator[Annotation]:
        for key, rows in claims.items():
            evidence = dict.fromkeys(str(row.get("Evidence") or "").strip() for row in rows)
            yield Annotation(
                id=key,
                images=(relevant.get(key, f"{key}-proof"),),
                question=str(rows[0][_CLAIM]).strip(),
                hint="\n".join(list(filter(None, evidence))[:_PARAGRAPHS]),
                label=str(rows[0][_LABEL] or ""),
            )

    return Annotations(records)


def _evidence_images(files: AnnotationFiles) -> dict[str, str]:
    """First image by claim; the lists of relevant text look alike, but their documents are no image files."""
    images: dict[str, str] = {}
    for row in files.find_entries(("TOPIC", "RELEVANCY", _EVIDENCE_IMAGES)) or ():
        names = (str(row.get(key) or "") for key in _EVIDENCE_IMAGES.split("|"))
        name = next((name for name in names if Path(name).suffix), "")
        if str(row["RELEVANCY"]) == "1" and name:
            images.setdefault(str(row["TOPIC"]), name)
    return images


@reads("coco-objects", "COCO's instances JSON: images, annotations with bbox and category_id, categories")
def _read_coco_objects(files: AnnotationFiles, settings: FileSettings) -> Annotations:
    """One record per image, with all its objects."""
    expected = 'COCO\'s instances JSON, {"images": …, "annotations": [{"bbox": …}], "categories": …}'
    documents = _without_copies(files.entries(("images", "categories", "annotations"), expected))
    classes = {entry["name"]: entry for document in documents for entry in document["categories"]}
    return Annotations(
        lambda: (record for document in documents for record in _coco_images(document)),
        tuple(ClassLabel(name=name, parent=entry.get("supercategory") or "") for name, entry in classes.items()),
    )


def _without_copies(documents: Iterable[Values]) -> list[Values]:
    """Files about other images than those before: COCO's key points and stuff repeat its objects."""
    known: set[Any] = set()
    others = []
    for document in documents:
        images = [image for image in document["images"] if image["id"] not in known]
        known.update(image["id"] for image in images)
        if images:
            others.append(document | {"images": images})
    return others


def _coco_images(document: Values) -> Iterator[Annotation]:
    names = {entry["id"]: entry["name"] for entry in document["categories"]}
    regions: dict[Any, list[Region]] = defaultdict(list)
    for entry in document["annotations"]:
        left, top, width, height = map(float, entry["bbox"])
        region = Region(
            box=(left, top, width, height),
            id=str(entry.get("id", "")),
            label=names[entry["category_id"]],
            is_crowd=bool(entry.get("iscrowd")),
        )
        regions[entry["image_id"]].append(region)
    for image in document["images"]:
        yield Annotation(
            id=str(image["id"]),
            images=(image.get("file_name") or str(image["id"]),),
            size=(int(image["width"]), int(image["height"])) if image.get("width") and image.get("height") else None,
            regions=tuple(regions[image["id"]]),
        )


READER = (_read_coco_objects, _read_visdial, _read_funsd, _read_wikihow, _read_mocheg)
