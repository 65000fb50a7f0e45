"""Documents of linked parts: VisDial's dialogues, FUNSD's forms, wikiHow, COCO's objects."""

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from eyetest.reform.annotation import Annotation, Annotations, ClassLabel, FileSettings, Region
from eyetest.reform.readers.base import AnnotationFiles, reads, texts
from eyetest.tabular.table import Values

_Relevance = dict[tuple[str, int], list[float]]
_SPLITS = {"training_data": "train", "testing_data": "test"}


@reads("visdial", 'VisDial\'s JSON, {"data": {"questions", "answers", "dialogs"}}, and its dense annotations')
def _read_visdial(files: AnnotationFiles, settings: FileSettings) -> Annotations:
    """One record per dialogue; questions and answers are in two lists, indexed by dialogues."""
    path, _, data = next(files.entries(("questions", "answers", "dialogs"), _read_visdial.summary).by_file())
    tags = {"split": split} if (split := files.top(path).get("split")) else {}
    relevance: _Relevance = {
        (str(entry["image_id"]), int(entry["round_id"])): entry.get("gt_relevance") or entry["relevance"]
        for entry in files.find_entries(("round_id", "gt_relevance|relevance")) or ()
    }

    def records() -> Iterator[Annotation]:
        for dialog in data["dialogs"]:
            image = str(dialog["image_id"])
            captions = (dialog["caption"],) if dialog.get("caption") else ()
            turns = tuple(_turns(dialog, data, image, relevance))
            yield Annotation(id=image, images=(image,), captions=captions, turns=turns, tags=tags)

    return Annotations(records)


def _turns(dialog: Values, data: Values, image: str, relevance: _Relevance) -> Iterator[Annotation]:
    """The turns with an answer; in the test split the last one has none."""
    for number, turn in enumerate(dialog["dialog"], 1):
        options = [data["answers"][index] for index in turn.get("answer_options") or ()]
        if "answer" not in turn and turn.get("gt_index") is None:
            return
        apt = relevance.get((image, number), ())
        question = data["questions"][turn["question"]].strip()
        yield Annotation(
            id=f"{image}:{number}",
            question=question if question.endswith("?") else f"{question}?",
            label=data["answers"][turn["answer"]] if "answer" in turn else options[turn["gt_index"]],
            options=tuple(options),
            answers=tuple(text for text, share in zip(options, apt, strict=False) if share > 0),
        )


@reads("funsd", 'FUNSD\'s JSON, one file a form: {"form": [{id, text, label, linking: [[key, value], …]}]}')
def _read_funsd(files: AnnotationFiles, settings: FileSettings) -> Annotations:
    """One record per key of a form; its answer is all that the key is linked to, in the order of the links."""
    forms = files.entries(("form",), _read_funsd.summary)
    return Annotations(lambda: (key for path, _, form in forms.by_file() for key in _form_keys(path, form["form"])))


def _form_keys(path: Path, form: list[Values]) -> Iterator[Annotation]:
    written = {block["id"]: str(block.get("text") or "") for block in form}
    values = {block["id"] for block in form if block.get("label") == "answer"}
    keys = [block for block in form if block.get("label") == "question"]
    split = next((_SPLITS[part] for part in reversed(path.parts) if part in _SPLITS), "")
    for key in keys:
        linked = dict.fromkeys(end for pair in key.get("linking") or () for end in pair if end in values)
        yield Annotation(
            id=f"{path.stem}:{key['id']}",
            images=(f"{path.stem}.png",),
            question=written[key["id"]].strip(),
            answers=texts(" ".join(written[block] for block in linked if written[block])),
            tags={"split": split} if split else {},
        )


@reads("wikihow", "wikiHow articles: {methods: [{name, steps: [{headline, img}]}]}, each in a folder of its own")
def _read_wikihow(files: AnnotationFiles, settings: FileSettings) -> Annotations:
    """One record per step that has an image, with all steps of its method."""
    articles = files.entries(("methods",), _read_wikihow.summary)
    return Annotations(lambda: (step for path, _, article in articles.by_file() for step in _steps(path, article)))


def _steps(path: Path, article: Values) -> Iterator[Annotation]:
    key = path.parent.name
    for number, method in enumerate(article["methods"], 1):
        steps = method.get("steps") or ()
        headlines = tuple(str(step["headline"]).strip() for step in steps)
        for position, step in enumerate(steps):
            if step.get("img"):
                yield Annotation(
                    id=f"{key}:{number}:{position + 1}",
                    images=(f"{key}/image/{step['img']}",),
                    question=str(method.get("name") or article.get("title") or "").strip(),
                    steps=headlines,
                    gold=position,
                )


@reads("coco-objects", "COCO's instances JSON: images, annotations with bbox and category_id, categories")
def _read_coco_objects(files: AnnotationFiles, settings: FileSettings) -> Annotations:
    """One record per image, with all its objects."""
    documents = list(files.entries(("images", "categories", "annotations"), _read_coco_objects.summary))
    classes = {entry["name"]: entry for document in documents for entry in document["categories"]}
    return Annotations(
        lambda: (record for document in documents for record in _coco_images(document)),
        tuple(ClassLabel(name=name, parent=entry.get("supercategory") or "") for name, entry in classes.items()),
    )


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


READER = (_read_coco_objects, _read_visdial, _read_funsd, _read_wikihow)
