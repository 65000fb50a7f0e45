"""`python -m eyetest` is `eyetest`."""

from eyetest.cli import main

main()
