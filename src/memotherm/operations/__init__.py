"""The operations that interfaces offer, and the JSON of their values.

`OPERATIONS` is the table; `to_json` and `from_json` are the codec. Importing the table loads neither the facade nor
anything that an extra needs.
"""
