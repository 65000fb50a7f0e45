"""What eyetest finds in public benchmarks: figures by command, and pages made of them.

    python -m tools.gallery                  all of it, into docs/gallery and the README
    python -m tools.gallery --only chartqa   one of them
    python -m tools.gallery --pages          the pages anew, from the figures and judgements that are stored

Figures and ids leave a benchmark, never its texts or images.
"""
