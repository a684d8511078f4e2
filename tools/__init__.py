"""What `make` runs beside the package: nothing here is installed with it."""
