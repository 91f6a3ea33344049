"""Plain functions on text: cleaning, digests, the words both indexes see, token counts."""
