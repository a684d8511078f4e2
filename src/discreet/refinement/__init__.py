"""Least squares: estimates from noisy numbers and from what is known of them exactly. It reads and spends nothing."""
