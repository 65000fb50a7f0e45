"""VizWiz: a list of pictures that blind people took, the question each of them asked, and ten people's answers."""

from typing import Any

from eyetest.reform.annotation import Annotation, Annotations
from eyetest.reform.readers.base import AnnotationFiles, NoSettings, Reader, picture, texts
from eyetest.reform.readers.vqa import most_common


class VizWizVqa(Reader):
    """One record a picture with its question."""

    name = "vizwiz"
    summary = "VizWiz's VQA lists: [{image, question, answers: [{answer, answer_confidence}], answerable}]"

    def read(self, files: AnnotationFiles, settings: NoSettings) -> Annotations:
        """The questions; those of the test split have no answer."""
        entries = files.entries({"image", "question"}, "VizWiz's JSON, a list of {image, question, answers}")
        return Annotations(lambda: map(_annotation, entries))


def _annotation(entry: dict[str, Any]) -> Annotation:
    said = entry.get("answers") or ()
    answers = texts([one["answer"] if isinstance(one, dict) else one for one in said])
    image = picture(entry["image"])
    tags = {"answer_type": entry["answer_type"]} if entry.get("answer_type") else {}
    if entry.get("answerable") is not None:
        tags["answerable"] = "yes" if int(entry["answerable"]) else "no"
    name = entry.get("question_id") or (image.rpartition("/")[2].rpartition(".")[0] if isinstance(image, str) else "")
    return Annotation(
        id=str(name),
        images=(image,),
        question=str(entry["question"]).strip(),
        answers=answers,
        label=most_common(answers),
        tags=tags,
    )


READER = VizWizVqa()
