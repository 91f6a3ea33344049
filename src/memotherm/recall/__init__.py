"""One query: candidates, evidence, fusion, versions, records, reranking, log entry.

`pipeline.py` has the list of stages, and one module has each of them.
"""
