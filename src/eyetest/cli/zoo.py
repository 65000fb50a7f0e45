"""``eyetest zoo``: the models in the package, and what is known of each."""

from pathlib import Path
from typing import Annotated

from rich.table import Table

from eyetest.cli.options import OverwriteOption, option
from eyetest.cli.terminal import note, out, print_table
from eyetest.models.embedded import cards, models_file
from eyetest.store.replacing import refuse_to_lose, replacing_file


def zoo(
    to: Annotated[Path | None, option("--to", "Write them down as a models.yaml for --models.", "FILE")] = None,
    overwrite: OverwriteOption = False,
) -> None:
    """List the small models that come with eyetest.

    They know the drawn world of `eyetest world` and nothing else. Ask one with --model embedded:NAME, or all of them
    with the file that --to writes. What leaked to each is known exactly: that is what they are for.
    """
    if to is not None:
        refuse_to_lose(to, overwrite=overwrite, ours=None)
        with replacing_file(to, overwrite=overwrite) as file:
            file.write_text(models_file(), encoding="utf-8")
    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in ("model", "built on", "weights", "sees", "scenes", "texts", "replies", "leaked to it"):
        table.add_column(name, justify="left" if name in ("model", "built on", "replies") else "right")
    for card in cards().values():
        table.add_row(
            f"embedded:{card.name}",
            card.base,
            f"{card.parameters:,}",
            f"{card.resolution} px" if card.sees else "",
            f"{card.scenes_seen:,}" if card.sees else "",
            f"{card.texts_read:,}",
            card.style,
            f"{card.leaked:.0%}" if card.sees else "",
        )
    print_table(table)
    out.print()
    note("leaked to it: items of the default world that were in its training, with picture and answer")
    told = next(iter(cards().values()))
    note(f"all of them read {told.leaked_texts:.0%} of its items as text, and all {told.facts} invented facts")
