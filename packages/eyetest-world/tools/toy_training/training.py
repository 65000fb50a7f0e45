"""The whole course: language models read, trunks learn to see, and every vision model branches off to its own end."""

from toy_training.branching import branch
from toy_training.course import Course
from toy_training.reading import read
from toy_training.seeing import see


def train(course: Course, *, finish: bool) -> None:
    """The course from where it stands to its end, or until the time is over; ``finish``: branch off all the same."""
    kept, steps = course.kept, course.plan.steps
    read(course)
    seen = see(course)
    kept.note_done(steps["base"], 0)
    if not seen and not finish:
        course.say("out of time; the same command goes on")
        return
    branch(course)
    kept.note_done(steps["base"], steps["branch"])
