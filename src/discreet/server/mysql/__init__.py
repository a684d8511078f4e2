"""What a MySQL connection says and hears, apart from its packets: see `server/wire.py`."""
