"""eyetest inside other programs: training loops and evaluation harnesses. A module imports its own library."""
