"""What Memotherm promises, measured: `python -m bench`."""
