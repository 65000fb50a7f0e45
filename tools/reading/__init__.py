"""How the rules for reading replies are kept short: what each cue changes on real replies."""
