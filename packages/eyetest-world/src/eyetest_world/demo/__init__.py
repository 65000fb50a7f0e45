"""The drawn world put to the test, and its page."""
