"""k-neighbourhood anonymity: edges are added until every person's contacts are connected like those of k - 1 others.

code.py      canonical codes of components                   classes.py    a graph that grows, and who looks alike in it
target.py    one neighbourhood for several people     filling.py    a neighbourhood grown into it, with few ripples
anonymize.py people made to look alike, until all do         limits.py     when growth is given up
rotating.py  edges that turn a graph onto itself: always     labelled.py   labels of people and their coarser forms
checker.py   classes once more, by another road              result.py     the published graph
"""
