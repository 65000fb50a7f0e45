"""CIDEr and BLEU-1…4 of generated captions: eyetest and pycocoevalcap on the same tokens, in one run.

    make peers
    python speed/captions.py [--peer-python .venv-peers/bin/python] [--captions 5000] [--references 5] [--rounds 3]

Both sides get tokens joined by blanks, score one after the other in each round, and are measured in CPU
seconds (the steady measure on a busy machine), best round of each. Without the peer it ends with exit code 2.
"""

import argparse
import json
import random
import subprocess
import sys
import time
from pathlib import Path

from eyetest.scoring.metrics.captions import bleu_scores, cider

_PEER = """
import json, sys, time
try:
    from pycocoevalcap.bleu.bleu import Bleu
    from pycocoevalcap.cider.cider import Cider
except ImportError:
    sys.exit(3)
print(flush=True)
answers, references = json.loads(sys.stdin.readline())
answers, references = {i: [a] for i, a in enumerate(answers)}, dict(enumerate(references))
for line in sys.stdin:
    started = time.process_time()
    score = Cider().compute_score(references, answers)[0]
    middle = time.process_time()
    bleus = Bleu(4).compute_score(references, answers, verbose=0)[0]
    seconds = [middle - started, time.process_time() - middle]
    print(json.dumps([*seconds, [float(score), *map(float, bleus)]]), flush=True)
"""
_MISSING = "pycocoevalcap is not there. Install it in an environment of its own and name its Python:\n  {}"
PEERS = Path(__file__).resolve().parent.parent / ".venv-peers/bin/python"


def captions(count: int, references: int) -> tuple[list[str], list[list[str]]]:
    """Captions of about eleven words, drawn as words are: few often, many seldom."""
    rng = random.Random(0)
    words = [f"w{number}" for number in range(8_000)]
    weights = [1 / (rank + 3) for rank in range(len(words))]
    lengths = range(8, 15)

    def caption(topic: list[str]) -> str:
        return " ".join(rng.choices(topic, k=4) + rng.choices(words, weights, k=rng.choice(lengths) - 4))

    answers, golds = [], []
    for _ in range(count):
        topic = rng.choices(words, weights, k=6)
        answers.append(caption(topic))
        golds.append([caption(topic) for _ in range(references)])
    return answers, golds


def ours(answers: list[str], references: list[list[str]]) -> tuple[float, float, list[float]]:
    """CPU seconds of CIDEr and of BLEU, splitting included, and the five scores."""
    started = time.process_time()
    score = cider([text.split() for text in answers], [[text.split() for text in texts] for texts in references])[0]
    middle = time.process_time()
    bleus = bleu_scores(
        [text.split() for text in answers], [[text.split() for text in texts] for texts in references]
    )
    return middle - started, time.process_time() - middle, [score, *(overall for overall, _ in bleus)]


def main() -> None:
    """Measure both sides and print the ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer-python", default=str(PEERS), help="a Python that has pycocoevalcap")
    parser.add_argument("--captions", type=int, default=5_000)
    parser.add_argument("--references", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    command = [options.peer_python, "-c", _PEER]
    try:
        peer = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    except OSError:
        peer = None
    if peer is None or not (peer.stdin and peer.stdout and peer.stdout.readline()):
        print(_MISSING.format("\n  ".join((__doc__ or "").splitlines()[2:4])), file=sys.stderr)
        sys.exit(2)
    corpus = captions(options.captions, options.references)
    peer.stdin.write(json.dumps(corpus) + "\n")
    rounds = []
    for _ in range(options.rounds):
        mine = ours(*corpus)
        peer.stdin.write("go\n")
        peer.stdin.flush()
        rounds.append((mine, json.loads(peer.stdout.readline())))
    peer.stdin.close()
    peer.wait()
    gap = max(abs(a - b) for mine, theirs in rounds for a, b in zip(mine[2], theirs[2], strict=True))
    print(f"{options.captions:,} captions x {options.references} references, best of {options.rounds}, CPU seconds")
    for name, part in (("CIDEr", slice(0, 1)), ("BLEU-1..4", slice(1, 2)), ("both", slice(0, 2))):
        mine, theirs = (min(sum(side[part]) for side in sides) for sides in zip(*rounds, strict=True))
        print(f"{name:10} eyetest {mine:6.2f}   pycocoevalcap {theirs:6.2f}   {theirs / mine:5.1f} x faster")
    print(f"largest difference of a score: {gap:.1e}")


if __name__ == "__main__":
    main()
