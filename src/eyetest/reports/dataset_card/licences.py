"""Licences as the hub and Croissant write them. Nothing is guessed: what nobody said is unknown."""

from typing import NamedTuple

_DOTTED = ("3.0", "4.0")
_CREATIVE = ("CC-BY", "CC-BY-SA", "CC-BY-NC", "CC-BY-ND", "CC-BY-NC-SA", "CC-BY-NC-ND")
_SPDX = (
    "CC0-1.0",
    *(f"{name}-{version}" for name in _CREATIVE for version in _DOTTED),
    *("MIT", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MPL-2.0", "Unlicense"),
    *("ODbL-1.0", "ODC-By-1.0", "PDDL-1.0"),
    *("CDLA-Permissive-1.0", "CDLA-Permissive-2.0", "CDLA-Sharing-1.0"),
)
_ON_THE_HUB = {"ODbL-1.0": "odbl", "ODC-By-1.0": "odc-by", "PDDL-1.0": "pddl"}
_BY_WORD = {name.lower(): name for name in _SPDX}
UNKNOWN = "unknown"


class Licence(NamedTuple):
    """A licence in the words of whoever named it."""

    said: str

    @property
    def is_known(self) -> bool:
        """Whether anybody said what it is; "unknown" is nobody."""
        return self.said.strip().lower() not in ("", UNKNOWN, "none", "?")

    @property
    def spdx(self) -> str:
        """Its SPDX name, where it is a common one."""
        return _BY_WORD.get("-".join(self.said.lower().replace("_", " ").split()), "")

    @property
    def on_the_hub(self) -> str:
        """What the hub calls it."""
        if not self.is_known:
            return UNKNOWN
        return _ON_THE_HUB.get(self.spdx, self.spdx.lower()) or "other"

    @property
    def address(self) -> str:
        """Where it can be read, or its name if nobody knows where."""
        if self.spdx:
            return f"https://spdx.org/licenses/{self.spdx}"
        return self.said if self.is_known else "UNKNOWN: nobody has said under what licence this may be used"
