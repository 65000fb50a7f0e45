"""How the models in eyetest's package were made: what they read and saw, how they learnt, how they are stored."""
