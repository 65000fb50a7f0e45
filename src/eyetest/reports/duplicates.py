"""What is there twice and costs nothing to see: repeated questions, pictures of equal bytes."""

from collections.abc import Iterator

from eyetest.probes import PROBES, Subject
from eyetest.probes.duplicate_images import identical_pictures
from eyetest.records import Finding


def cheap_duplicates(subject: Subject) -> Iterator[Finding]:
    """No picture is opened for this."""
    yield from PROBES["duplicate-items"].run(subject)
    yield from identical_pictures(subject)
