"""Runs on disk, and answers on their way in and out."""
