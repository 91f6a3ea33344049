"""Functions on text: validation, digests, index words, token counts, truncation, times, Markdown."""
