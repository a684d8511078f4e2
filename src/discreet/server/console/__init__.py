"""The console: a vault in the browser. Pages made on the server, through the same door as everything else."""
