"""The lab of policies: replay of the past, comparison with caches, and policies in the shadow."""
