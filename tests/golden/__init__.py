"""Files that tests compare byte by byte, and the code that writes them."""
