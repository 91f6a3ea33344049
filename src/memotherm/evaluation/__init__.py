"""Measuring retrieval through the public API, on data from outside the project.

datasets   folders of gzip JSON lines -> documents, questions and their answers
measures   ranked lists -> recall, nDCG, MRR, and confidence intervals of differences
controls   plain rankings to compare with: words only, vectors only, two common fusions
silence    runs a set through `context`, with prompts that no memory answers
quality    runs a set through `remember` and `recall`, and through the controls
report     tables of the results for a terminal
commands   `memotherm bench`
"""
