"""Benchmarks: the figures of the issues, each a ratio to a peer measured in the same run."""
