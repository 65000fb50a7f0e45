"""Replies that tools read as something else. Each parser is a few lines of ours that do what its thread describes."""

import re
from collections.abc import Sequence

from tests.museum.exhibit import ANIMALS, TEN, UNREAD, Exhibit, by_rules, reading

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def first(pattern: str, reply: str, flags: int = 0) -> str:
    found = re.search(pattern, reply, flags)
    return found[1].upper() if found else UNREAD


def last(pattern: str, reply: str, flags: int = 0) -> str:
    found = re.findall(pattern, reply, flags)
    return found[-1].upper() if found else UNREAD


def counts_the_whole_line(reply: str, options: Sequence[str]) -> str:
    """Capitals of the line, the A of ``Answer`` too; where there are several, a matcher gets the words behind."""
    lines = [line.strip() for line in reply.splitlines() if line.strip().startswith("Answer:")]
    if len(lines) != 1:
        return by_rules("vlmevalkit", reply, tuple(options))
    capitals = {sign for sign in lines[0] if sign in LETTERS}
    found = capitals.pop() if len(capitals) == 1 else by_rules("vlmevalkit", lines[0][7:], tuple(options))
    return UNREAD if found == "a guess" else found


def strips_fused_prefixes(reply: str, options: Sequence[str]) -> str:
    for prefix in ("The best answer is", "The answer is", "Best answer:Best option:"):  # two that became one
        reply = reply.replace(prefix, "")
    return first("([ABCDE])", reply)


def one_letter_at_the_end(reply: str, options: Sequence[str]) -> str:
    words = re.sub(r"[.()\[\],:;!*#{}]", " ", reply).split()
    named = [mark for mark in LETTERS[: len(options)] if mark in words]
    if len(named) == 1 and words.index(named[0]) > len(words) - 5:
        return named[0]
    return UNREAD


def any_first_letter(reply: str, options: Sequence[str]) -> str:
    return first(r"^[(\s]*([A-Z])[).\s]*", reply, re.IGNORECASE)


def last_in_brackets(reply: str, options: Sequence[str]) -> str:
    return last(r"\(([A-Z])\)", reply)


def exact_match(reply: str, options: Sequence[str]) -> str:
    bare = reply.strip()
    return bare.strip("()") if bare in LETTERS or re.fullmatch(r"\([A-Z]\)", bare) else UNREAD


def shortest_option_first(reply: str, options: Sequence[str]) -> str:
    found = re.search("|".join(map(re.escape, options)), reply)
    return LETTERS[list(options).index(found[0])] if found else UNREAD


def last_letter_anywhere(reply: str, options: Sequence[str]) -> str:
    return last(rf"\b([{LETTERS[: len(options)]}])\b", reply.upper())


def first_capital(reply: str, options: Sequence[str]) -> str:
    for pattern in (r"\(([A-Z])\)", r"([A-Z])[.)\s]", "([A-Z])"):
        if (found := first(pattern, reply)) != UNREAD:
            return found
    return UNREAD


READINGS: tuple[Exhibit, ...] = (
    reading(
        ("open-compass/VLMEvalKit", 1591),
        "capitals are counted over the whole line, the A of `Answer` too; 18.55 → 67.92 % on the same predictions",
        "The needle points to the left.\nAnswer: $B",
        "B",
        counts_the_whole_line,
    ),
    reading(
        ("open-compass/VLMEvalKit", 1560),
        "a missing comma fuses two prefixes, so that neither is stripped and the B of `Best` is read",
        "Best answer: C",
        "C",
        strips_fused_prefixes,
    ),
    reading(
        ("open-compass/VLMEvalKit", 1552),
        "the letter has to stand among the last four words; a reply that explains itself goes to a judge",
        "The correct answer is B. It wags its tail and fetches the ball that its owner throws.",
        "B",
        one_letter_at_the_end,
    ),
    reading(
        ("EvolvingLMMs-Lab/lmms-eval", 1434),
        "the first letter of the reply is taken, be it no option",
        "The shadow falls on the right, so the correct answer is (B).",
        "B",
        any_first_letter,
    ),
    reading(
        ("EvolvingLMMs-Lab/lmms-eval", 1434),
        "… and where it is one by chance, the wrong answer may even score",
        "Based on its feathers, the answer is (C).",
        "C",
        any_first_letter,
    ),
    reading(
        ("openai/evals", 1767),
        "the right answer is searched for as a substring, so one that was taken back counts",
        "ANSWER: A. No, wait, it barks. ANSWER: B",
        "B",
        lambda reply, options: next(mark for mark in "ABCD" if f"ANSWER: {mark}" in reply),
    ),
    reading(
        ("openai/simple-evals", 33),
        "the cue matches across lines, and the A of the next `Antwort` is taken for the answer",
        "Antwort:\n\nAntwort: D",
        "D",
        lambda reply, options: first(r"antwort:\s*([A-D])", reply, re.IGNORECASE),
    ),
    reading(
        ("openai/frontier-evals", 125),
        "the first declaration is scored, also where the model corrects itself",
        "Answer: D\nThe gills are missing, though, so I have to correct this.\nAnswer: A",
        "A",
        lambda reply, options: first(r"Answer:\s*([A-D])", reply),
    ),
    reading(
        ("EleutherAI/lm-evaluation-harness", 3879),
        "the last letter in brackets is taken, though it is one that was ruled out",
        "Conclusion: (B). Ruled out: (A), (C), (D).",
        "B",
        last_in_brackets,
    ),
    reading(
        ("EleutherAI/lm-evaluation-harness", 3879),
        "… also under a heading that is no common cue",
        "Verdict: (C). Ruled out: (A), (B), (D).",
        "C",
        last_in_brackets,
        honest="It knows neither `Verdict:` nor `Ruled out:`, sees four options named alike, and takes none of them.",
    ),
    reading(
        ("EleutherAI/lm-evaluation-harness", 3884),
        "options are tried in their order, so one that is the beginning of another wins",
        "the answer is red panda",
        "B",
        shortest_option_first,
        options=("red", "red panda", "bear", "otter"),
    ),
    reading(
        ("EleutherAI/lm-evaluation-harness", 2905),
        "the full stop stays on, and `(C).` is not `(C)`",
        "(C).",
        "C",
        exact_match,
    ),
    reading(
        ("EleutherAI/lm-evaluation-harness", 3842),
        "the whole reply is compared with the letter, so that a cue in any language makes it wrong",
        "정답: C",
        "C",
        exact_match,
    ),
    reading(
        ("open-compass/opencompass", 2600),
        "a missing comma fuses two patterns; the first letter anywhere is taken instead",
        "选项A没有羽毛，只有选项C是对的。",
        "C",
        lambda reply, options: first("([ABCD])", reply),
    ),
    reading(
        ("open-compass/opencompass", 1933),
        "a stock phrase behind `Answer:` is read as its first letter",
        "Answer: Let's think step by step. It has scales and gills. The answer is (D).",
        "D",
        lambda reply, options: first(r"answer:\s*([A-P])", reply, re.IGNORECASE),
        options=(*ANIMALS, *TEN[:8]),
    ),
    reading(
        ("open-compass/opencompass", 1462),
        "the first letter is taken where the answer stands last",
        "A: It has feathers and a beak, so neither of the first two. The answer is (C).",
        "C",
        lambda reply, options: first(r"\b([A-P])\b", reply),
    ),
    reading(
        ("open-compass/opencompass", 1462),
        "the label of a turn, `A:`, is read as the answer",
        "A: Let me see. Wings mean option C.",
        "C",
        lambda reply, options: first(r"\b([A-P])\b", reply),
        honest="A letter with a colon at the beginning is a commitment here, `option C` behind it a mention.",
    ),
    reading(
        ("jundot/omlx", 3668),
        "the reply is upper-cased and the cue is not, so the last letter anywhere is taken",
        "The answer is B. Mind that A is what most people say.",
        "B",
        last_letter_anywhere,
    ),
    reading(
        ("jundot/omlx", 3668),
        "… and with ten options the pronoun I is one",
        "The answer is C because I counted the legs.",
        "C",
        last_letter_anywhere,
        options=TEN,
    ),
    reading(
        ("NVIDIA-NeMo/Skills", 1526),
        "a boxed formula comes before the line with the answer, and its last capital is read",
        r"We find \boxed{\Delta T < E} for every lamp. Answer: D",
        "D",
        lambda reply, options: last(r"\b([A-Z])\b", first(r"\\boxed\{(.*?)\}", reply)),
        options=TEN,
    ),
    reading(
        ("modelscope/evalscope", 1556),
        "a letter in brackets is not accepted behind the cue, and the last capital of the reply is read",
        "ANSWER: (D) wheels B, D and F turn to the left",
        "D",
        lambda reply, options: last("([A-Z])", re.sub("ANSWER", "", reply)),
        options=TEN,
    ),
    reading(
        ("modelscope/evalscope", 1549),
        "the model repeats the requested format, the echo matches with nothing in it, and the answer is dropped",
        "I have to end with `ANSWER: [LETTER]`.\nIt swims.\nANSWER: D",
        "D",
        lambda reply, options: first(r"ANSWER:\s*(\w?)", reply) or UNREAD,
    ),
    reading(
        ("aniri15/OPD-V", 2),
        "the first capital is read, which is that of `Answer`",
        "Answer: **C**",
        "C",
        first_capital,
    ),
    reading(
        ("worldbench/DriveBench", 15),
        "the lower-case article `a` in the explanation is read as option A",
        "b. dog. Explanation: it is a pet that is led on a leash.",
        "B",
        lambda reply, options: last(r"\b([abcd])\b", reply),
    ),
    reading(
        ("MakazhanAlpamys/Soup", 357),
        r"`\boxed{}` is not known",
        r"It has whiskers, hence $\boxed{A}$.",
        "A",
        lambda reply, options: first(r"answer(?: is|:)\s*\(?([A-D])", reply, re.IGNORECASE),
    ),
    reading(
        ("ruixiangcui/AGIEval", 3),
        "every capital counts as chosen, those of a unit too",
        r"选项 (B) $2.1\mathrm{MeV}$。",
        "B",
        lambda reply, options: "".join(re.findall("([A-Z])", reply)),
    ),
    reading(
        ("ai-twinkle/Eval", 156),
        "the pattern wants a full stop behind the letter",
        "我選擇 C",
        "C",
        lambda reply, options: first(r"選\s*([A-Z])\s*[項。.]", reply),
    ),
    reading(
        ("allenai/olmo-eval", 389),
        "a thinking block that never ends is searched for letters",
        "<think>It could be (C), with those wings. But are they wings? Let me look again at the",
        UNREAD,
        last_in_brackets,
    ),
    reading(
        ("MMMU-Benchmark/MMMU", 72),
        "a refusal gets a random option, and scores as often as chance does",
        "Sorry, this image could not be recognised.",
        UNREAD,
        "mmmu",
    ),
    reading(
        ("open-compass/VLMEvalKit", 73),
        "yes or no is searched for inside words: `notice` holds a no",
        "Yes, it is; the notice on the gate says so.",
        "A",
        lambda reply, options: "B" if "no" in reply.lower() else "A",
        options=("yes", "no"),
    ),
)
