"""Options of all commands that measure: whose rules, which items depend on each other, how sure, drawn how."""

from pathlib import Path
from typing import Annotated

import typer

from eyetest.results.gather import CLUSTERS

WHICH = "What is measured"
"""The panel of ``--help`` in which they stand."""

RulesOption = Annotated[
    str, typer.Option("--rules", metavar="NAME", help="Whose reading rules.", rich_help_panel=WHICH)
]
ClusterOption = Annotated[
    str,
    typer.Option(
        "--cluster",
        metavar="NAME",
        help=f"What makes items depend on each other: {', '.join(CLUSTERS)}, or a tag.",
        rich_help_panel=WHICH,
    ),
]
LevelOption = Annotated[
    float, typer.Option("--level", min=0.5, max=0.999, help="Of intervals and tests.", rich_help_panel=WHICH)
]
ResamplesOption = Annotated[
    int, typer.Option("--resamples", min=100, help="For bootstrapped intervals.", rich_help_panel=WHICH)
]
SeedOption = Annotated[int, typer.Option("--seed", min=0, help="Of all drawing by lot.", rich_help_panel=WHICH)]
ExternalOption = Annotated[
    Path | None,
    typer.Option("--with", metavar="CSV", help="A score from outside: model,score.", rich_help_panel=WHICH),
]
ModelsOption = Annotated[
    Path | None,
    typer.Option("--models", metavar="FILE", help="models.yaml: language bases, sizes.", rich_help_panel=WHICH),
]
