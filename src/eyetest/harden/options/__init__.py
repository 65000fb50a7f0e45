"""More options for each item: by models or by rule, checked, and chosen so that surface cues do not tell the key."""
