"""Storage of files: this machine's disk (`files`), or a bucket accessed through a mirror (`urls`)."""

from eyetest.store.urls import refuse_to_lose, replacing_file, replacing_folder, store_of, write_file

__all__ = ["refuse_to_lose", "replacing_file", "replacing_folder", "store_of", "write_file"]
