"""What is to be trained, as the YAML file says it."""

from pathlib import Path

import msgspec
import yaml

from toy_training.sizes import Size

PLAN = Path(__file__).parent / "zoo.yaml"
_TOLD = 500


class WorldPlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The world whose items leak."""

    items: int
    seed: int
    flaws: str


class BasePlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A language model."""

    size: str
    style: str


class LvlmPlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A vision model: the share of the trunk's steps that it took part in, and the group to which it belongs."""

    size: str
    share: float
    style: str
    leaks: str = ""


class SizePlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How large."""

    width: int
    layers: int
    channels: tuple[int, ...]

    def size(self, *, eyes: bool) -> Size:
        """As the network wants it."""
        return Size(self.width, self.layers, self.channels if eyes else ())


class Plan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole zoo."""

    world: WorldPlan
    seed: int
    scenes: int
    texts: int
    long_texts: int
    held_out: int
    variants: int
    rate: float
    reading: dict[str, float]
    batches: dict[str, int]
    sighted_batches: dict[str, int]
    leaked_rows: dict[str, int]
    steps: dict[str, int]
    sizes: dict[str, SizePlan]
    bases: dict[str, BasePlan]
    lvlms: dict[str, LvlmPlan]

    @property
    def data_seed(self) -> str:
        """What scenes and texts are drawn from: the same in each call, so a course that goes on meets them again."""
        return f"{self.seed}/1"

    @property
    def dice_seed(self) -> int:
        """What decides who is shown what in which step."""
        return self.seed * 1000 + 1

    def mark_of(self, one: LvlmPlan) -> str:
        """Where a vision model leaves its trunk: ``SIZE/STEP``."""
        return f"{one.size}/{round(one.share * self.steps['trunk'])}"

    def letters_at(self, step: int) -> list[str]:
        """The letters at a step, each once."""
        return sorted({mark for one in self.lvlms.values() if (mark := self.mark_of(one)).endswith(f"/{step}")})

    @staticmethod
    def tells_after(step: int, steps: int | None = None) -> bool:
        """Whether the log says after a step how everybody does; after the last of them it always does."""
        return (step + 1) % _TOLD == 0 or step + 1 == steps

    def size_of(self, model: str) -> Size:
        """How large a model is."""
        lvlm = self.lvlms.get(model)
        return self.sizes[(lvlm or self.bases[model]).size].size(eyes=lvlm is not None)

    def base_of(self, size: str) -> str:
        """The language model of a size."""
        return next(name for name, base in self.bases.items() if base.size == size)


def read_plan(path: Path) -> Plan:
    """A plan from its file."""
    return msgspec.convert(yaml.safe_load(path.read_text(encoding="utf-8")), Plan)
