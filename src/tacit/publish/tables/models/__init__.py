"""Checkers of anonymity models. They share no code with the anonymizers, and decide every tie exactly.

    rows.py  counts.py       the input: groups of rows that look alike, and how often each value occurs in each
    verdict.py  exactly.py   the result; comparisons of ratios with a limit
    k_anonymity.py           every group has k rows, and no value a share above alpha
    diversity.py             l different values, shares of at most 1/l, an entropy of at least ln l, c_1 < c (c_l + ... + c_r)
    closeness.py             within t of the whole table (tree.py), or each share within a factor of e^delta of the whole table's
    personalized.py          the guarding node of each person

entropy.md and closeness.md say why the comparisons are exact. None of these models is differentially private.
"""
