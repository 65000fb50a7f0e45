"""The first phase: language models read. All of them read the same."""

from toy_training.course import Course
from toy_training.keeping import weights_of
from toy_training.learning import learn_together, schedule


def read(course: Course) -> None:
    """Train the language models, unless they are there."""
    plan, kept = course.plan, course.kept
    if kept.bases:
        return
    steps = plan.steps["base"]
    students = {name: course.student(base.size, None, eyes=False) for name, base in plan.bases.items()}
    for step in range(steps):
        lesson = course.lesson(plan.batches)
        for student in students.values():
            student.take(lesson)
        learn_together(students.values(), plan.rate * schedule(step, steps))
        if plan.tells_after(step, steps):
            for name, student in students.items():
                course.say(name, step + 1, student.losses[:1], course.told(student.network))
    kept.bases = {name: weights_of(student.network) for name, student in students.items()}
    kept.keep_bases()
