"""Review by people: what they are asked and what they decide."""
