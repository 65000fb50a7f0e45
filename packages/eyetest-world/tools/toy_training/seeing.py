"""The second phase: trunks, one of each size, learn to see, and are kept as they are where models branch off."""

from eyetest_world.scenes import KINDS

from toy_training.course import Course
from toy_training.keeping import weights_of
from toy_training.learning import Student, learn_together, warm_up
from toy_training.testing import seen_accuracy

_CHECKED = 50


def see(course: Course) -> bool:
    """Train the trunks from where they stand; says whether they came to the end before the time was over."""
    plan, kept = course.plan, course.kept
    if kept.step >= plan.steps["trunk"]:
        return True
    students = {}
    for size in sorted({one.size for one in plan.lvlms.values()}, key=list(plan.sizes).index):
        students[size] = course.student(size, kept.trunks.get(size) or kept.bases[plan.base_of(size)], eyes=True)
    try:
        _learn(course, students)
    finally:
        kept.trunks = {size: weights_of(student.network) for size, student in students.items()}
        kept.keep_trunks()
    for size, student in students.items():
        by_kind = seen_accuracy(student.network, course.gallery)[1]
        course.say(size, kept.step, dict(zip(KINDS, by_kind, strict=False)))
    return kept.step >= plan.steps["trunk"]


def _learn(course: Course, students: dict[str, Student]) -> None:
    plan, kept, first = course.plan, course.kept, course.kept.step
    gallery = course.gallery
    for step in range(first, plan.steps["trunk"]):
        if step % _CHECKED == 0:
            if course.out_of_time:
                return
            gallery.refresh()
        lesson = course.lesson(plan.sighted_batches, gallery)
        for student in students.values():
            student.take(lesson)
        learn_together(students.values(), plan.rate * warm_up(step - first))
        kept.step = step + 1
        for mark in plan.letters_at(kept.step):
            kept.letters[mark] = weights_of(students[mark.partition("/")[0]].network)
        if plan.tells_after(step):
            course.say("scenes", gallery.ready)
            for size, student in students.items():
                course.say(size, step + 1, student.losses, course.told(student.network))
