"""The contract of a store, subject by subject, as tests that a store's own tests inherit."""
