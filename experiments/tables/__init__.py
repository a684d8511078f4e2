"""Public tables for experiments and benchmarks, with their domains. None of them is in the repository."""
