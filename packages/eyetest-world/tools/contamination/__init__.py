"""Models whose training data is known: 600 copies of the toy models go on learning, some of them from a benchmark."""
