"""One query: candidates, evidence, fusion, confidence, versions, records, reranking, log entry.

`pipeline.py` has the list of stages. `evidence.py` and `rank.py` compute scores, `recaller.py` makes hits of them
and writes the log.
"""
