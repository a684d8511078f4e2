"""The vault: what users hold; its cubes, facts, buckets and SuLQ are things of it, each with its verbs."""

from discreet.vault.vault import Vault, fit_domain, propose_domain

__all__ = ["Vault", "fit_domain", "propose_domain"]
