"""What a server tells a client, and how it is asked."""
