"""Integer lattices: the kernel of a matrix, and its primitive moves. In exact arithmetic."""
