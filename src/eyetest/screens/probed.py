"""What the model-free probes find, as a screen."""

from collections.abc import Iterator
from typing import ClassVar

from eyetest.errors import InputError
from eyetest.probes.audit import run_audit
from eyetest.probes.subject import Subject
from eyetest.records import Stage, StoppingRule, Verdict
from eyetest.screens.base import ScreenInput


class Probed:
    """An item that a probe raises an alarm about gets the probe's verdict, or the stage's."""

    name = "probe"
    summary = "drop, or send to people, what a probe of eyetest audit finds"
    uses: ClassVar[frozenset[str]] = frozenset({"probe", "then"})

    def rule(self, stage: Stage, seats: int, size: int, tests: int) -> StoppingRule | None:
        """No model is asked."""
        if stage.probe is None:
            raise InputError(f"the stage {stage.title}: which probe? eyetest audit --help lists them")
        return None

    def judge(self, case: ScreenInput) -> Iterator[Verdict]:
        """Probe the whole benchmark, and look the items up."""
        assert case.stage.probe is not None
        assert case.benchmark is not None
        audit = run_audit(Subject(case.benchmark, seed=case.seed), [case.stage.probe])
        nothing = "; ".join(["nothing found", *(finding.title for finding in audit.untested)])
        alarms: dict[str, Verdict] = {}
        for row in audit.verdicts([item.id for item in case.items]):
            alarms.setdefault(row.item, row)
        for item in case.items:
            alarm = alarms.get(item.id)
            if alarm is None or alarm.verdict == "keep":
                yield case.verdict(item.id, "keep", f"{case.stage.probe}: {nothing}")
            else:
                verdict, reason = case.stage.then or alarm.verdict, f"{case.stage.probe}: {alarm.reason}"
                yield case.verdict(item.id, verdict, reason, p=alarm.p, evidence={"found": alarm.evidence})


SCREENS = (Probed(),)
