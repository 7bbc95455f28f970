"""Differential privacy for graphs: these releases are private, and each says for what, one edge or one node. Proofs in private.md.

relations.py    one edge, or one person with all edges     degrees.py     the degree sequence (edge)
counting.py     edges and triangles (edge)                 histogram.py   degrees after a projection (node)
spending.py     the ledger of one relation, and the till
"""
