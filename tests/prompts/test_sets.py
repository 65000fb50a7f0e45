"""Prompts of the user's own and of papers, and conditions by name: what is sent, and what is refused."""

import json
from collections import Counter
from pathlib import Path

import msgspec
import pytest
import yaml

from eyetest.errors import InputError
from eyetest.prompts import build
from eyetest.prompts.conditions import read_conditions
from eyetest.prompts.sets import contents, known_prompts, load_prompts, prompt_names, remember, under
from eyetest.records import REVERSED, Condition
from eyetest.runs import Run
from tests.endpoint import Endpoint
from tests.prompts.questions import asked, choice_item, screenshot, spelt, text_item
from tests.recipes.benches import make_bench
from tests.support.command import call
from tests.support.refusals import refusal

OWN = r"""
system: You are terse.
layout: {choice: "Hint: {hint}\nQ: {question}\n({options})\n{instruction} \\boxed{{answer}}"}
option: "{letter}) {option}"
between: " / "
instructions: {choice: {direct: ["Go, {mark}.", "Now."]}}
examples:
  two:
    choice: [{question: "1 + 1?", options: ["2", "3"], answer: "2"}, {question: "up?", answer: x, reply: I say x}]
reply: "It is {letter}: {option}"
tasks:
  - when: {task: [sums, more sums], level: hard}
    instructions: {choice: {direct: "Compute."}}
roles: {describer: "Tell me about {n}."}
"""
MMSTAR = (
    "Question: Which of these is used to measure temperature?\n"
    "Options: A: ruler, B: thermometer, C: scale, D: clock\n"
    "Choose one of the options and write down its letter only."
)


def written(folder: Path, text: str, name: str = "own") -> Path:
    path = folder / f"{name}.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_own_texts_are_sent_exactly(tmp_path: Path) -> None:
    label = load_prompts(written(tmp_path, OWN)).label
    item = choice_item("red", "{option}", question="Which {options}?", hint="Look.")
    system, *shots, turn = spelt(asked(item, prompts=label, shots="two"))
    assert system == "You are terse."
    assert shots == [
        "Q: 1 + 1?\n(A) 2 / B) 3)\nGo, letter. \\boxed{answer}", "It is A: 2",
        "Q: up?\nGo, letter. \\boxed{answer}", "I say x",
    ]  # fmt: skip
    assert turn == "#Hint: Look.\nQ: Which {options}?\n(A) red / B) {option})\nGo, letter. \\boxed{answer}"
    hard = msgspec.structs.replace(item, tags={"task": "more sums", "level": "hard"})
    assert spelt(asked(hard, prompts=label))[-1].endswith(") {option})\nCompute. \\boxed{answer}")
    assert spelt(asked(hard, prompts=label, template=0, ask="cot"))[-1] != spelt(asked(hard, ask="cot"))[-1]
    with pytest.raises(InputError, match="template 2: there are 2 templates for choice questions asked direct"):
        asked(item, prompts=label, template=2)
    text = asked(text_item(), prompts=label)
    assert spelt(text)[1:] == spelt(asked(text_item())), "what a set leaves out is as usual"
    begun = build(choice_item(), Condition(prompts=label, shots="format"), prefill=True)
    assert begun.prefill == "It is "
    assert spelt(asked(screenshot(item), prompts=label, modality="screenshot"))[-1].endswith(
        "\nGo, letter. \\boxed{answer}"
    )


def test_a_label_is_a_name_and_what_is_sent(tmp_path: Path) -> None:
    first = load_prompts(written(tmp_path, OWN))
    assert first.label.startswith("own@")
    same = load_prompts(written(tmp_path, OWN + "about: other words about it\n"))
    roles = load_prompts(written(tmp_path, OWN.replace("Tell me about", "Describe")))
    other = load_prompts(written(tmp_path, OWN.replace("Compute.", "Add.")))
    assert same.label == roles.label == first.label != other.label
    assert (same.roles, roles.roles == first.roles) == (first.roles, False)
    judges = load_prompts(written(tmp_path, "roles: {describer: Describe.}", "judges"))
    assert (judges.label, judges.roles.partition("@")[0]) == ("eyetest", "judges")
    stored = json.loads(json.dumps(contents([first.label, "eyetest"])))
    assert [*stored] == [first.label]
    remember({"elsewhere@1": stored[first.label]})
    assert spelt(asked(choice_item(), prompts="elsewhere@1")) == spelt(asked(choice_item(), prompts=first.label))
    with pytest.raises(InputError, match="the prompts 'gone@1' are not stored"):
        known_prompts("gone@1")


def test_by_name_or_file_in_conditions(workdir: Path) -> None:
    (workdir / "texts").mkdir()
    path = written(workdir / "texts", OWN)
    mine = load_prompts("texts/own.yaml").label
    assert mine.startswith("own@")
    labels = [condition.prompts for condition in read_conditions("image+prompts=eyetest/mmstar, no-image")]
    assert labels == ["eyetest", load_prompts("mmstar").label, "eyetest"]
    assert [c.prompts for c in read_conditions(f"prompts={path.relative_to(workdir)}")] == [load_prompts(path).label]
    changed = [condition.prompts for condition in under(read_conditions("image, prompts=lime"), path)]
    assert changed == [mine, load_prompts("lime").label]
    assert prompt_names() == ["eyetest", "lime", "mmmu-pro", "mmstar", "reform-eval"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("instruction: {}", 'no setting "instruction"; did you mean "instructions"?'),
        ("instructions: {choise: {direct: x}}", 'instructions: no setting "choise"; did you mean "choice"?'),
        ("layout: {choice: '{question} {instruction}'}", "layout, choice: {options} is missing in '{question}"),
        ("layout: {text: '{quesion} {instruction}'}", 'layout, text: no slot {quesion}; did you mean "question"?'),
        ("tasks: [{when: {task: x}, option: '{letter}'}]", "option: {option} is missing"),
        ("tasks: [{layout: {}}]", "missing required field `when`"),
        ("roles: {judge: '{options} only'}", "roles, judge: {reply} is missing"),
        ("roles: {juge: x}", 'roles: no setting "juge"; did you mean "judge"?'),
        ("examples: {two: {choice: [{question: a, options: [b], answer: c}]}}", "answer 'c' is none of its options"),
        ("examples: {two: {choice: {many: []}}}", "Expected `str` matching regex"),
    ],
)  # fmt: skip
def test_one_line_for_a_mistake(text: str, message: str, tmp_path: Path) -> None:
    path = written(tmp_path, text)
    line = refusal(load_prompts, path)
    assert line.startswith(str(path))
    assert message in line


def test_the_papers_protocols_say_how_they_differ() -> None:
    with pytest.raises(InputError, match="no prompts 'mmstra'; did you mean \"mmstar\""):
        load_prompts("mmstra")
    for name in ("mmstar", "mmmu-pro", "lime", "reform-eval"):
        found = load_prompts(name)
        assert found.texts.about
        assert found.texts.differences
        assert found.label != "eyetest"
    item = choice_item("red", "green")
    assert spelt(asked(item, prompts=load_prompts("mmstar").label, shots="two"))[:2] == [MMSTAR, "B"]
    reform = build(item, Condition(prompts=load_prompts("reform-eval").label, shots="format"), prefill=True)
    assert spelt(reform)[1:] == [
        "The answer is (A) Yes.",
        "#Which colour is the car? Options: (A) red; (B) green.\n"
        "Answer with the letter of the correct option, without any explanation.",
    ]
    assert reform.prefill == "The answer is ("
    lime = load_prompts("lime")
    assert spelt(asked(text_item(tags={"task": "POPE"}), prompts=lime.label))[-1].endswith(
        "Reply with yes or no only."
    )
    assert "golden" not in lime.of(item).roles["gold_judge"]


@pytest.mark.journey
def test_a_paper_protocol_from_the_command_line(endpoint: Endpoint, tmp_path: Path) -> None:
    """MMStar: a model 0-shot with and without the image, its language model 2-shot; exact texts, then scores."""
    bench = make_bench(tmp_path / "bench", items=8, image_count=2)
    endpoint.answer = lambda attempt: "hmm" if "Which is 3?" in attempt.question else "A"
    label, run = load_prompts("mmstar").label, str(tmp_path / "run")
    specs = {"vlm": {"spec": f"openai:v@{endpoint.url}", "base": "llm"}, "llm": {"spec": f"openai:l@{endpoint.url}"}}
    models = written(tmp_path, yaml.safe_dump(specs), "models")
    asked_of = ("run", str(bench.path), "--models", str(models), "--to", run)
    for model, conditions in (("vlm", "image,no-image"), ("llm", "no-image+two-shot")):
        more = ("--model", model, "--condition", conditions, "--prompts", "mmstar")
        assert call(*asked_of, *more).code == 0
    turn = "Question: Which is 5?\nOptions: A: option 0, B: option 1, C: option 2, D: option 3\n{}"
    turn = turn.format("Choose one of the options and write down its letter only.")
    by_model: dict[str, list[list[str]]] = {}
    for attempt in endpoint.attempts:
        if "Which is 5?" in attempt.question:
            texts = [
                m["content"] if isinstance(m["content"], str) else "".join(p.get("text", "#") for p in m["content"])
                for m in attempt.body["messages"]
            ]
            by_model.setdefault(attempt.body["model"], []).append(texts)
    assert sorted(by_model["v"]) == [[f"#{turn}"], [turn]]
    assert [texts[0] for texts in by_model["l"]] == [MMSTAR]
    assert [texts[1::2] + texts[-1:] for texts in by_model["l"]] == [["B", "C", turn]]
    sent = len(endpoint.attempts)
    assert call(*asked_of, "--model", "vlm", "--condition", "image+prompts=mmstar").code == 0
    assert len(endpoint.attempts) == sent, "the same prompts are the same requests"
    assert call(*asked_of, "--model", "vlm").code == 0
    assert len(endpoint.attempts) == sent + len(bench)
    for command in (("score", run), ("measure", "accuracy", run)):
        table = json.loads(call(*command, "--output", "json").out)
        rows = table["groups"] if command[0] == "score" else table["rows"]
        seen = {row["prompts"] for row in rows if row["model"] == "vlm" and row["modality"] == "image"}
        assert seen == {label, "eyetest"}
    judged = written(tmp_path, "roles: {judge: 'Which of {options} is {reply}?'}", "judges")
    endpoint.forget()
    endpoint.answer = lambda attempt: "D"
    judge = ("--judge", f"j=openai:j@{endpoint.url}", "--judge-sample", "0")
    call("score", run, *judge, "--prompts", str(judged))
    question = "Which of A. option 0\nB. option 1\nC. option 2\nD. option 3 is hmm?"
    assert {attempt.question for attempt in endpoint.attempts} == {question}
    roles = load_prompts(judged).roles
    assert f"j ({roles}) read what the rules could not" in call("measure", "accuracy", run).err
    steps = Run(Path(run)).manifest.steps
    assert [[*step.prompts] for step in steps] == [[label], [label], [label], [], [roles]]


ALL = "perturb=instruction/order/letters"


def ways(words: str, seed: int = 0) -> tuple[Condition, ...]:
    return read_conditions(words, seed)


def test_names_overlays_and_values(tmp_path: Path) -> None:
    assert ways("") == read_conditions([]) == (Condition(),)
    assert ways("image, no-image+cot") == (Condition(), Condition(modality="no-image", ask="cot"))
    assert ways("order=reversed+digits")[0] == Condition(order=REVERSED, letters="digit")
    found = ways("modality=image/no-image+template=0/1/2+order=0/7")
    assert len(found) == len(set(found)) == 12
    assert found[0] == Condition()
    assert found[-1] == Condition(modality="no-image", template=2, order=7)
    every = ways("image+all-templates, no-image+all-templates")
    assert len(every) == len(set(every)) == 12
    own = Condition(history="own")
    assert read_conditions(["image", own]) == (Condition(), own)
    (tmp_path / "eyetest.yaml").write_text("conditions: {mine: {modality: gray, order: [0, 1]}}")
    project = tmp_path / "eyetest.yaml"
    assert [one.order for one in read_conditions("mine+cot", 0, project)] == [0, 1]


def test_tests_vary_all_axes_or_one_from_the_usual_condition_by_a_seed() -> None:
    first, *others = ways(ALL)
    assert first == Condition()
    assert len(others) == 4
    assert all(one.template and one.order for one in others)
    assert [one.letters for one in (first, *others)] == ["upper", "lower", "digit", "upper", "lower"]
    assert ways(ALL, 3) == ways(ALL, 3) == ways(f"{ALL}+tests=40", 3)[:5] != ways(ALL, 4)
    usual, *alone = ways("perturb=instruction, perturb=order, perturb=letters")
    assert usual == Condition()
    axes = ("template", "order", "letters")
    changed = [[axis for axis in axes if getattr(one, axis) != getattr(usual, axis)] for one in alone]
    assert Counter(axis for (axis,) in changed) == {"template": 4, "order": 4, "letters": 2}


def test_under_likelihood_only_the_instruction_varies() -> None:
    weighed = read_conditions(f"likelihood+{ALL}")
    assert len({one.template for one in weighed}) == len(weighed) == 5
    assert {(one.order, one.letters) for one in weighed} == {(0, "upper")}
    assert len(ways("perturb=letters")) == 3


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("imgae", "--condition: no condition 'imgae'; did you mean \"image\"?"),
        ("image+modalty=no-image", "--condition: no axis 'modalty'; did you mean \"modality\"?"),
        ("ask=cott", "--condition: ask: no value 'cott'; did you mean \"cot\"?"),
        ("template=-1", "template: found '-1', expected a number from 0"),
        ("order=1.5", "order: found '1.5', expected a whole number"),
        ("perturb=ordr", "perturb: no source 'ordr'; did you mean \"order\"?"),
        ("tests=5", "--condition: tests needs perturb: what varies (instruction, order, letters)?"),
        ("perturb=order+tests=1", "tests: found 1, expected 2 to 1,000"),
        ("image+no-image", "--condition: modality: image and no-image contradict each other"),
        ("cot+direct", "--condition: ask: cot and direct contradict each other"),
        ("image+image", "--condition: 'image' is given twice"),
        ("image+modality=image", "modality: image is given twice"),
        ("template=0/1+template=2", "template: 0/1 and 2 contradict each other"),
        ("order=0/7/0", "'0' is given twice"),
        ("image,image", "'image' is given twice"),
        ("image,direct", "'direct' asks nothing that image does not ask"),
        ("all-templates,template=2", "'template=2' asks nothing that all-templates does not ask"),
        ("image,", "found an empty part in 'image,'"),
        ("image++cot", "found an empty part in 'image++cot'"),
        ("modality=image/", "found an empty part in 'image/'"),
        ("likelihood+perturb=order", "perturb=order changes nothing under likelihood"),
        ("reform-eval+perturb=order", "'order' is given twice"),
        ("reform-eval+tests=7", "tests: 5 and 7 contradict each other"),
        ("order=7+perturb=order/letters", "perturb=order starts from the usual order; leave out order, or order"),
    ],
)
def test_wrong_words_are_refused_in_one_line(words: str, message: str) -> None:
    assert message in refusal(read_conditions, words)
