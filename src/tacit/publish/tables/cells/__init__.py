"""What exact marginals say of the cells behind them: sharp bounds, the number of tables that fit, cell suppression.

released.py     marginals and known cells as sums over cells       bounds.py       sharp bounds of every cell
decomposable.py sets of marginals with closed formulas             programs.py     linear and integer programs
counting.py     how many tables fit, one after the other           suppression.py  hide cells until every small one is safe
"""
