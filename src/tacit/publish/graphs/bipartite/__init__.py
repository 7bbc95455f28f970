"""Safe (k,l)-grouping of bipartite graphs: the structure is published exactly, and labels only up to groups.

two_sided.py    a graph between two kinds of nodes      grouping.py    a safe grouping of one side, by greedy search
safety.py       the check of a grouping                  publishing.py  the published groups, and how likely a pair is
queries.py      counts with their bounds                 examples.py    an unsafe grouping, and a safe one
"""
