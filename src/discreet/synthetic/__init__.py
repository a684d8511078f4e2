"""Synthetic rows: a model of what was released, written as a table of the same columns. No row of it is a person."""
