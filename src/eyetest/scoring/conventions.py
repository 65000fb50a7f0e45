"""Whether a text writes decimal commas (``3,125`` is about three) and thousands with points (``12.500``).

English, Chinese, Japanese and Korean texts write points. A text shows the other convention by a number that has only
one meaning (``3,5``, ``0,125``, ``1.234.567``), or by its language: more of its words are words of a language that
writes commas than are common English ones.
"""

import re

from eyetest.scoring.rules.options import word_set

_ONE_MEANING = re.compile(
    r"(?<![\d.,(\[{_])(?:0,\d{3}|\d+,(?:\d{1,2}|\d{4,}))(?![\d,]|\.\d)"
    r"|(?<![\d.,])\d{1,3}(?:(?:\.\d{3}){2,}|(?:\.\d{3})+,\d+)(?![\d.,]\d)"
)
_WORD = re.compile(r"[^\W\d_]{2,}")
_ENGLISH = word_set(
    "the of is are was were what how many much which and or it its there this that with for by from has have does "
    "not so therefore about equals answer value total result final number"
)
_WITH_COMMAS = word_set(
    # Portuguese, Spanish, Catalan
    "os dos das um uma em com tem que para por pela pelo quanto quantos quantas qual resposta portanto "
    "es una unos del hay cuanto cuantos cuantas cual respuesta entonces tiene "
    # French, Italian, Romanian
    "est sont une des du les il elle dans avec pour donc combien quel quelle vaut "
    "gli della dello delle sono quanti quante quale risposta quindi este sunt "
    # German, Dutch, Danish, Norwegian, Swedish
    "der das ist sind und eine ein einen von mit wie viele hat beträgt lautet antwort somit daher "
    "het een zijn hoeveel antwoord och det ett svar svaret hvor mange hur "
    # Polish, Czech, Turkish, Hungarian, Finnish, Croatian, Indonesian, Malay
    "jest wynosi ile jsou kolik bir kaç cevap az egy hány ja kuinka vastaus koliko "
    "adalah jawaban jawapan berapa dan yang ada jumlah harga jadi"
)
_LETTER_WITH_COMMAS = re.compile("[À-ÖØ-öø-ɏḀ-ỿ]|[Ѐ-ӿ]{3}|[Ͱ-Ͽ]{3}")


def writes_commas(text: str) -> bool:
    """Whether a text shows that it writes decimal commas."""
    if _ONE_MEANING.search(text):
        return True
    words = _WORD.findall(text)
    english = sum(word.casefold() in _ENGLISH for word in words)
    return sum(_is_of_other_language(word) for word in words) > english


def _is_of_other_language(word: str) -> bool:
    """Whether a word belongs to a language that writes decimal commas, or has its letters."""
    return word.casefold() in _WITH_COMMAS or _LETTER_WITH_COMMAS.search(word) is not None
