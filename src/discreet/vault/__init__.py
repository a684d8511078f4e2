"""The vault: what users hold; its cubes, facts, buckets and SuLQ are things of it, each with its verbs."""

from discreet.vault.drafts import fit_domain, propose_domain
from discreet.vault.vault import Vault

__all__ = ["Vault", "fit_domain", "propose_domain"]
