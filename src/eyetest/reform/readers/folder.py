"""Pictures in folders named after their class: ``cat/001.jpg``."""

from collections.abc import Iterator
from pathlib import Path

from eyetest.records import IMAGE_FORMATS
from eyetest.reform.annotation import Annotation, Annotations, ClassLabel
from eyetest.reform.readers.base import AnnotationFiles, NoSettings, Reader

_ENDINGS = (*(f".{name}" for name in IMAGE_FORMATS), ".jpg", ".tif")


class ClassFolders(Reader):
    """The name of a picture's folder is its class."""

    name = "folder"
    summary = "pictures in folders named after their class"

    def read(self, files: AnnotationFiles, settings: NoSettings) -> Annotations:
        """One record a picture."""
        roots = [path for path in files.named if path.is_dir()]
        classes = sorted({path.parent.name for root in roots for path in _pictures(root)})
        if not classes:
            raise files.unlike("a folder that holds folders of pictures, one a class")

        def records() -> Iterator[Annotation]:
            for root in roots:
                for path in _pictures(root):
                    name = path.relative_to(root).as_posix()
                    yield Annotation(id=name, images=(name,), label=_spoken(path.parent.name))

        return Annotations(records, tuple(ClassLabel(name=_spoken(name)) for name in classes))


def _pictures(root: Path) -> Iterator[Path]:
    paths = sorted(root.rglob("*"))
    return (path for path in paths if path.suffix.lower() in _ENDINGS and path.parent != root and path.is_file())


def _spoken(name: str) -> str:
    return name.replace("_", " ").strip()


READER = ClassFolders()
