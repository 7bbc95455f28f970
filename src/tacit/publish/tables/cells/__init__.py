"""Inference from exact marginals to the cells behind them: sharp bounds, the number of tables that fit, cell suppression.

released.py     counts with the names of columns and values, and their marginals as sums over cells
bounds.py       sharp bounds of every cell, by formulas or programs
counting.py     how many tables fit
suppression.py  hide cells until every small one is safe

None of it is differentially private.
"""
