"""Mutation testing: small mistakes, one at a time, in a copy of the package, and whether its tests notice."""
