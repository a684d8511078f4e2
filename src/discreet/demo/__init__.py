"""A generated population, and a vault at work over it. Nobody in it ever lived."""
