"""Empirical ε: what every mechanism loses at least, from many of its outcomes, beside what it states."""
