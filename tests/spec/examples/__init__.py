"""The worked examples and test cases of the source documents, as they are written there."""
