"""The vault: what users hold; its cubes, facts, buckets and SuLQ are things of it, each with its verbs."""

from discreet.vault.drafts import fit_domain, fit_tables, propose_domain, propose_tables
from discreet.vault.vault import Vault

__all__ = ["Vault", "fit_domain", "fit_tables", "propose_domain", "propose_tables"]
