"""pycanon's figures for tables made from Adult, and for small tables at a tie: `python pycanon_figures.py FOLDER` prints JSON.

It runs in an environment of its own, since pycanon pins old versions. Each case says which level each quasi-identifier has.
"""

import json
import math
import sys
import time
from pathlib import Path

import pandas as pd
import pycanon
from pycanon import anonymity

CASES = {
    "income by sex, race and marital status": ({"sex": 0, "race": 0, "marital-status": 1}, ["income"]),
    "occupation by age, education and sex": ({"age": 3, "education": 2, "sex": 0}, ["occupation"]),
    "income by eight": (
        {"sex": 0, "age": 3, "race": 0, "marital-status": 1, "education": 2, "native-country": 1, "workclass": 1, "occupation": 1},
        ["income"],
    ),
    "hours by race and sex": ({"race": 0, "sex": 0}, ["hours-per-week"]),
    "income and relationship by age and sex": ({"age": 3, "sex": 0}, ["income", "relationship"]),
}
TIES = {"5, 5": [5, 5], "4, 1, 1, 1, 1": [4, 1, 1, 1, 1], "5, 5, 5": [5, 5, 5], "8, 2, 2": [8, 2, 2], "6, 3, 3": [6, 3, 3]}
MODELS = {
    "alpha, k": anonymity.alpha_k_anonymity,
    "distinct l": anonymity.l_diversity,
    "entropy l": anonymity.entropy_l_diversity,
    "recursive c, l": anonymity.recursive_c_l_diversity,
    "t": anonymity.t_closeness,
    "delta": anonymity.delta_disclosure,
}


def generalized(folder, levels, sensitive):
    """Adult without missing values, with each quasi-identifier at its level."""
    table = pd.read_csv(folder / "adult.csv.gz")
    named = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation", "income"]
    table = table[(table[named] != "?").all(axis=1)].reset_index(drop=True)
    for name, level in levels.items():
        lines = (folder / "hierarchies" / f"{name}.csv").read_text().splitlines()
        forms = {line.split(";")[0]: line.split(";")[level] for line in lines}
        table[name] = table[name].astype(str).map(forms)
    return table[[*levels, *(name for name in sensitive if name not in levels)]]


def figures(table, quasi, sensitive):
    found = {"rows": len(table), "k": anonymity.k_anonymity(table, quasi)}
    for name, model in MODELS.items():
        found[name] = [plain(model(table, quasi, sensitive, gen=gen)) for gen in (True, False)]
    return found


def plain(figure):
    if isinstance(figure, tuple):
        return [plain(each) for each in figure]
    return None if math.isnan(figure) else float(figure)


def main(folder):
    known = {"pycanon": pycanon.__version__, "pandas": pd.__version__, "cases": {}, "ties": {}, "seconds": {}}
    for name, (levels, sensitive) in CASES.items():
        table = generalized(folder, levels, sensitive)
        known["cases"][name] = {"levels": levels, "sensitive": sensitive, "figures": figures(table, list(levels), sensitive)}
    for name, counts in TIES.items():
        rows = [f"v{value}" for value, count in enumerate(counts) for _ in range(count)]
        known["ties"][name] = {"counts": counts, "figures": figures(pd.DataFrame({"q": "a", "s": rows}), ["q"], ["s"])}
    levels, sensitive = CASES["income by eight"]
    table = generalized(folder, levels, sensitive)
    for name, model in (("k", anonymity.k_anonymity), ("entropy l", MODELS["entropy l"]), ("t", MODELS["t"])):
        start = time.process_time()
        model(table, list(levels), *([] if name == "k" else [sensitive]))
        known["seconds"][name] = time.process_time() - start
    print(json.dumps(known, indent=1))


main(Path(sys.argv[1]))
