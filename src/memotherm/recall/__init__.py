"""One query: candidates, evidence, fusion, versions, records, reranking, log entry.

`pipeline.py` has the list of stages; each other module is one of them.
"""
