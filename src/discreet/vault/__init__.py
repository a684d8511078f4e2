"""The vault: what users hold; its cubes, facts, buckets and SuLQ are things of it, each with its verbs."""

from discreet.vault.vault import Vault, propose_domain

__all__ = ["Vault", "propose_domain"]
