"""What Thermocline promises, measured: `python -m bench`."""
