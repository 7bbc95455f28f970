"""The census extract "Adult" under a catalog of its code book, where the data is present."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import tacit
from tacit.session import DataSet

SOURCE = Path(__file__).parents[2] / ".." / "shared" / "data" / "adult" / "adult.csv.gz"
COUNTRIES = (
    "United-States Cambodia England Puerto-Rico Canada Germany Outlying-US(Guam-USVI-etc) India Japan Greece South China Cuba Iran "
    "Honduras Philippines Italy Poland Jamaica Vietnam Mexico Portugal Ireland France Dominican-Republic Laos Ecuador Taiwan Haiti "
    "Columbia Hungary Guatemala Nicaragua Scotland Thailand Yugoslavia El-Salvador Trinadad&Tobago Peru Hong Holand-Netherlands"
)
VALUES = {
    "workclass": "Private Self-emp-not-inc Self-emp-inc Federal-gov Local-gov State-gov Without-pay Never-worked",
    "education": "Bachelors Some-college 11th HS-grad Prof-school Assoc-acdm Assoc-voc 9th 7th-8th 12th Masters 1st-4th 10th "
    "Doctorate 5th-6th Preschool",
    "marital-status": "Married-civ-spouse Divorced Never-married Separated Widowed Married-spouse-absent Married-AF-spouse",
    "occupation": "Tech-support Craft-repair Other-service Sales Exec-managerial Prof-specialty Handlers-cleaners "
    "Machine-op-inspct Adm-clerical Farming-fishing Transport-moving Priv-house-serv Protective-serv Armed-Forces",
    "relationship": "Wife Own-child Husband Not-in-family Other-relative Unmarried",
    "race": "White Asian-Pac-Islander Amer-Indian-Eskimo Other Black",
    "sex": "Female Male",
    "native-country": COUNTRIES,
    "income": "<=50K >50K",
}
NUMBERS = {
    "age": "bounds = [17, 90], bins = [20, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70]",
    "fnlwgt": "bounds = [0, 1500000], bins = [50000, 100000, 150000, 200000, 250000, 300000, 400000, 600000]",
    "education-num": "bounds = [1, 16]",
    "capital-gain": "bounds = [0, 99999], bins = [1, 3000, 5000, 7500, 10000, 20000, 50000]",
    "capital-loss": "bounds = [0, 4356], bins = [1, 1500, 1750, 2000, 2250, 2500]",
    "hours-per-week": "bounds = [1, 99], bins = [20, 30, 36, 40, 41, 46, 51, 61]",
}


def catalog_text(epsilon: float = 1000, delta: float = 1e-3) -> str:
    columns = {name: f"{{ {bounds} }}" for name, bounds in NUMBERS.items()}
    columns |= {name: f"{{ values = {values.split()} }}" for name, values in VALUES.items()}
    lines = "\n".join(f"{name} = {declared}" for name, declared in columns.items()).replace("'", '"')
    table = '[tables.adult]\nsource = "adult.csv"\nunit = "row"\nrows_at_most = 100000\n'
    head = f"[budget]\nepsilon = {epsilon}\ndelta = {delta}\n\n{table}"
    return f"{head}\n[tables.adult.columns]\n{lines}\n"


def adult_data(folder: Path, epsilon: float = 1000) -> DataSet:
    """The prepared data set, in a folder of its own, which is soon gone."""
    with gzip.open(SOURCE, "rb") as packed, (folder / "adult.csv").open("wb") as plain:
        shutil.copyfileobj(packed, plain)
    (folder / "tacit.toml").write_text(catalog_text(epsilon))
    data = tacit.open(folder / "tacit.toml")
    data.prepare(new_ledger=True, reason="a test")
    return data
