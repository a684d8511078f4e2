"""One file a peer: how it does each task. Run by the peer's own interpreter."""
