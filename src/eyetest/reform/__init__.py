"""Annotations become items: any task-oriented dataset as choice or text questions in one form.

In flow a dataset's annotation files and a short YAML file that names a reader and a reformer. Out flows a benchmark
folder in which every item names the record it came from and how each of its distractors was made.
"""
