"""Pictures in folders named after their class: ``cat/001.jpg``."""

from eyetest.benchmarks.picture_folders import spoken
from eyetest.reform.annotation import Annotations
from eyetest.reform.readers.base import AnnotationFiles, NoSettings, Reader
from eyetest.reform.readers.labelled import from_folders


class ClassFolders(Reader):
    """The name of a picture's folder is its class."""

    name = "folder"
    summary = "pictures in folders named after their class"

    def read(self, files: AnnotationFiles, settings: NoSettings) -> Annotations:
        """One record a picture."""
        annotations = from_folders(files, spoken)
        if annotations is None:
            raise files.unlike("a folder that holds folders of pictures, one a class")
        return annotations


READER = ClassFolders()
