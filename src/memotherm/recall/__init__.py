"""One query: candidates, evidence, fusion, confidence, versions, records, reranking, log entry.

`pipeline.py` has the list of stages, and one module has each of them.
"""
