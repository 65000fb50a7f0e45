"""How a question was put, in words for people; tables and options keep the short names."""

from eyetest.measures.results import PROTOCOL

_WORDS = {
    "sight": {
        "image": "with the image",
        "blind": "without the image",
        "blind-guess": "without the image, told to guess",
        "grey": "with a plain grey image",
        "caption": "with a caption for the image",
        "screenshot": "as a screenshot",
        "no-question": "without the question",
        "nothing": "with the options alone",
    },
    "ask": {"direct": "direct answer", "cot": "reasoning first", "ocr": "transcript first"},
    "shots": {"none": "", "format": "one example of the format", "two": "two worked examples"},
    "method": {"generate": "", "likelihood": "by likelihood", "first-token": "by the first token's likelihood"},
    "history": {"gold": "", "own": "told its own earlier answers"},
}


def protocol_words(label: str) -> str:
    """What ``image direct`` means: ``with the image, direct answer``. ``label`` is that of `protocol_label`."""
    known = {value: words for axis in PROTOCOL for value, words in _WORDS[axis].items()}
    return ", ".join(known.get(word, word) for word in label.split() if known.get(word, word))
