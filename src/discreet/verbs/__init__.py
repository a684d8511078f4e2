"""What a vault can do, by capability; `Vault` is all of them together."""
