"""What exact marginals say of the cells behind them: sharp bounds, the number of tables that fit, cell suppression.

contingency.py  counts with the names of columns and values        released.py     marginals as sums over cells
decomposable.py sets of marginals with closed formulas             programs.py     linear and integer programs
bounds.py       sharp bounds of every cell                         counting.py     how many tables fit
suppression.py  hide cells until every small one is safe

None of it is differentially private.
"""
