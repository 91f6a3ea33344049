"""Hostile tests that run as long as they are given: `make siege`, or `python -m tests.siege FAMILY --seconds N`.

`make test` runs most of them for a moment, so that they keep working.
"""
