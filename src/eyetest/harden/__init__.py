"""An existing benchmark made harder without changing what is right: more options, screenshots, new editions."""
