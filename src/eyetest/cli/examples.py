"""An example of each command, as its help shows it: words that can be typed, in lines that fit a terminal."""

EXAMPLES = {
    "init": "eyetest init mybench.tsv",
    "doctor": "eyetest doctor run --models models.yaml",
    "audit": "eyetest audit mybench.tsv --page audit.html",
    "show": "eyetest show mybench.tsv 17 --sight blind",
    "open": "eyetest open mybench.tsv run --browser",
    "run": "eyetest run mybench.tsv --models models.yaml --sight image,blind --to run",
    "suite": "eyetest suite suite.yaml --to results",
    "place": "eyetest place new --models models.yaml --on mybench --answers run --to placed",
    "describe": "eyetest describe mybench.tsv --model openai:gpt-4o --to described",
    "status": "eyetest status run",
    "models": "eyetest models run --rename gpt4o=openai/gpt-4o --remove test",
    "merge": "eyetest merge run-ann run-ben --to run",
    "import-answers": "eyetest import-answers predictions.xlsx --bench mybench.tsv --to run",
    "export-answers": "eyetest export-answers run --to answers.csv",
    "score": "eyetest score run --rules vlmevalkit",
    "measure": "eyetest measure gain run --sight image,blind",
    "compare": (
        "eyetest compare run --model new,old --flips 5\n"
        "eyetest compare new old --models models.yaml --on mybench.tsv --to race"
    ),
    "compare --on": "eyetest compare new old --models models.yaml --on mybench.tsv --to race",
    "report": "eyetest report run --page report.html",
    "explain": "eyetest explain run 17 --model new",
    "read": 'eyetest read --options cat dog bird fish --text "A dog" --rules all',
    "diff-rules": "eyetest diff-rules run --a eyetest --b mmmu",
    "reconcile": (
        "eyetest reconcile run run --rules-b mmmu\n"
        "eyetest reconcile gpt4o_MMStar.xlsx run\n"
        "eyetest reconcile run 54.0 --model gpt-4o"
    ),
    "estimate": "eyetest estimate small run",
    "refine": "eyetest refine mybench --recipe chance-aware --models models.yaml --to new",
    "recipe": "eyetest recipe show mmstar",
    "review": (
        "eyetest review mybench run --items 100 --form mmstar --browser\neyetest review invite Ann --on mybench"
    ),
    "review invite": "eyetest review invite Ann --on mybench",
    "review revoke": "eyetest review revoke Ann --on mybench",
    "review status": "eyetest review status mybench",
    "review revise": "eyetest review revise mybench --to mybench-2",
    "review export": "eyetest review export mybench --to studio --tool label-studio",
    "review import": "eyetest review import export.json --on mybench --reviewer 3=Ann",
    "reform": ("eyetest reform list\neyetest reform vqav2 -a annotations --images val2014 --to vqav2"),
    "harden options": ("eyetest harden options mybench --option-count 10 --to mybench-10\neyetest review mybench-10"),
    "harden screenshot": "eyetest harden screenshot mybench --look phone --to screens",
    "harden page": "eyetest harden page run4 run10 vision --page settings.html",
    "harden renew": "eyetest harden renew world/benchmark --seed 8 --to renewed",
    "harden twins": "eyetest harden twins world/benchmark --twins 2 --to twins",
    "subset": "eyetest subset mybench --answers run --share 0.1 --to small",
    "import": "eyetest import mybench.tsv --licence CC-BY-4.0 --to mybench",
    "export": "eyetest export mybench --format vlmevalkit --to mybench.tsv",
    "card": "eyetest card mybench --fact licence=CC-BY-4.0",
    "demo": "eyetest demo --to demo",
    "world": "eyetest world new --item-count 300 --seed 11 --to world",
    "zoo": "eyetest zoo --to models.yaml",
}
