"""What is needed to make the package, and never to use it."""
