"""What an adversary could conclude from what is public, tried out: attacks on buckets, and on a vault's own answers."""
