"""The whole question inside one picture, in many looks."""
