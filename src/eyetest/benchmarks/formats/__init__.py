"""Other tools' files, both ways. A new format is one module here that defines ``FORMAT``."""
