"""The whole question inside one image, in many looks."""
