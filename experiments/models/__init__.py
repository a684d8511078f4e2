"""Where models fail: their error by the number of attributes, and by the size of a cell."""
