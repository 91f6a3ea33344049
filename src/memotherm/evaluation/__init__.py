"""Measuring retrieval through the public API, on data that lies outside the project.

    datasets   folders of gzip JSON lines -> what is stored, what is asked, what is right
    measures   ranked lists -> recall, nDCG, MRR, and how sure the differences are
    controls   plain rankings to compare with: words only, vectors only, two common fusions
    quality    runs a set through `remember` and `recall`, and the controls beside it

Nothing here ranks: what the product cannot do by itself, the harness does not do for it.
"""
