"""Plugins of pytest that run the tests of other frameworks with our adapters."""
