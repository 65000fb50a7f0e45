"""What eyetest finds in public benchmarks: figures by command, and pages made of them.

    python -m tools.gallery                  all, into docs/gallery and the README; unchanged rows are kept
    python -m tools.gallery --only chartqa   one of them
    python -m tools.gallery --pages          the pages anew, from the figures and judgements that are stored
    python -m tools.gallery --pin            commits and hashes that the manifest lacks, from the sources
    python -m tools.gallery.judging          findings about items and controls, to be judged blind
    python -m tools.gallery.replicating      findings about benchmarks, tested on items that the audit did not see

Figures, ids and hashes are kept, never a benchmark's texts or images.
"""
