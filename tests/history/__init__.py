"""Readers of transcripts, on files made after those of the programs."""
