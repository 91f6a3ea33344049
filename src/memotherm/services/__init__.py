"""What the facade's verbs are made of: pure decisions below, a store and an embedder at hand."""
