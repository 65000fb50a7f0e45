"""A file of answers, and what the user said about it."""

from pathlib import Path

import msgspec

from eyetest.errors import InputError, heading
from eyetest.runs.importing.mapping import FieldMap


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """A file and how to read it."""

    path: Path
    fields: FieldMap = FieldMap()
    matrix: str = ""
    """What a row of a matrix of verdicts is, item or model; empty where there is one row an answer."""
    header: str | None = None
    """What the names of a matrix's columns say."""
    number_trials: bool = False
    """Whether a repeated answer is another trial rather than a mistake."""

    @property
    def name(self) -> str:
        """The file's name as text that any of our files can hold."""
        return self.path.name.encode("utf-8", "replace").decode()

    @property
    def label(self) -> str | None:
        """The column that names the rows of a matrix, where the user says which."""
        names = self.fields.columns.get(self.matrix, ())
        if len(names) > 1:
            raise InputError(f"{heading('columns', self.matrix)}: the rows of a matrix are named by one column")
        return names[0] if names else None

    @property
    def cell_fields(self) -> FieldMap:
        """The mapping as it applies to a matrix's cells, whose row has its name already."""
        columns = {field: names for field, names in self.fields.columns.items() if field != self.matrix}
        return msgspec.structs.replace(self.fields, columns=columns)
