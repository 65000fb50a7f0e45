"""The last phase: every vision model goes on from its mark, ever more slowly, and meets what leaked to it."""

from toy_training.batches import Leaks
from toy_training.course import Course
from toy_training.keeping import Weights, weights_of
from toy_training.learning import Student, learn_together, warm_up
from toy_training.plan import LvlmPlan
from toy_training.testing import read_accuracy

_ASKED_ABOUT_LEAKS = 1024


def branch(course: Course) -> None:
    """Train the vision models and keep them."""
    plan, steps = course.plan, course.plan.steps["branch"]
    students = {name: course.student(one.size, _start(course, one), eyes=True) for name, one in plan.lvlms.items()}
    gallery = course.gallery
    course.say("branches", gallery.ready)
    for step in range(steps):
        lesson = course.lesson(plan.sighted_batches, gallery)
        for name, student in students.items():
            student.take(lesson)
            if (leaks := course.leaks.get(plan.lvlms[name].leaks)) is not None:
                _leak(course, student, leaks)
        learn_together(students.values(), plan.rate * warm_up(step) * (1 - step / steps))
        if plan.tells_after(step, steps):
            for name, student in students.items():
                _tell(course, name, step, student)
    for size in plan.sizes:
        of_size = {name: one for name, one in students.items() if plan.lvlms[name].size == size}
        course.kept.keep_branches(size, {name: weights_of(one.network) for name, one in of_size.items()})


def _start(course: Course, one: LvlmPlan) -> Weights:
    """The trunk at the model's mark; one that never got there branches off where it stands."""
    return course.kept.letters.get(course.plan.mark_of(one)) or course.kept.trunks[one.size]


def _leak(course: Course, student: Student, leaks: Leaks) -> None:
    """Put leaked items in the places of some that all see and read."""
    rows = course.plan.leaked_rows
    assert student.seen is not None
    student.seen.fill(leaks.draw(rows["seen"], course.styles(rows["seen"]), course.dice))
    student.read.fill(leaks.read.draw(rows["read"], course.styles(rows["read"]), course.dice))


def _tell(course: Course, name: str, step: int, student: Student) -> None:
    leaks = course.leaks.get(course.plan.lvlms[name].leaks)
    known = None
    if leaks is not None:
        every = max(1, len(leaks.read) // _ASKED_ABOUT_LEAKS)
        known = read_accuracy(student.network, leaks.read, leaks.read.all()[::every])
    course.say(name, step + 1, student.losses, course.told(student.network), "leaked", known)
