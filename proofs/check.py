"""`make theorems`: checks every theorem by Coq, what each of them assumes, planted mistakes, and the code that runs.

1. No source has an axiom, an admitted proof or a parameter outside a section.
2. Every file compiles, and `Print Assumptions` of every theorem of theorems.toml is within assumptions.txt.
3. Every mistake of mistakes.toml makes its file fail, in a proof.
4. The functions of Executable.v, extracted to OCaml, agree with tacit's Python on random inputs. Errors planted in the Python
   are noticed.

The result is written to result.json with a hash of the sources, which `make test` compares.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

HERE = Path(__file__).parent
ORDER = (
    *("Laws", "Composition", "Filter", "Laplace", "Pure", "Choices", "NoisyMax", "Stability", "Threshold"),
    *("Coins", "Sampler", "Rounds", "Drawn", "Executable", "Constants"),
)
PACKAGES = ("coq", "libcoq-coquelicot", "libcoq-interval", "ocaml-nox", "ocaml-findlib")
FORBIDDEN = re.compile(r"\b(Admitted|admit|Axiom|Axioms|Parameter|Parameters|Conjecture|Abort|give_up|bypass_check|Unset Guard)\b")
MACHINE = "machine-integers"
COMMENT = re.compile(r"\(\*.*?\*\)", re.DOTALL)
IN_A_PROOF = (
    "Unable to unify",
    "Tactic failure",
    "Found no subterm",
    "No applicable tactic",
    "not an equation",
    "No primitive equality",
    "No such",
    "Cannot",
    "Attempt to save",
)


def hash_of_sources() -> str:
    """One hash of everything that the result depends on, in this folder."""
    files = sorted([*HERE.glob("*.v"), *HERE.glob("comparison/*"), *HERE.glob("*.toml"), HERE / "check.py", HERE / "compare.py"])
    digest = hashlib.sha256()
    for file in files:
        digest.update(f"{file.relative_to(HERE)}\0".encode() + hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


def theorems() -> dict[str, list[str]]:
    """The names of the theorems of each file."""
    rows = tomllib.loads((HERE / "theorems.toml").read_text("utf-8"))
    inner = {name: [row, *(part for part in row.values() if isinstance(part, dict))] for name, row in rows.items()}
    return {name: [each for part in parts for each in part["theorems"]] for name, parts in inner.items()}


def tools_missing() -> list[str]:
    """The Debian packages that are not installed, as far as their commands and libraries show it."""
    found = subprocess.run(["coqc", "-where"], capture_output=True, text=True, check=False) if shutil.which("coqc") else None
    place = Path(found.stdout.strip()) / "user-contrib" if found else Path("/nowhere")
    present = {
        "coq": found is not None,
        "libcoq-coquelicot": (place / "Coquelicot").exists(),
        "libcoq-interval": (place / "Interval").exists(),
        "ocaml-nox": shutil.which("ocamlopt") is not None,
        "ocaml-findlib": shutil.which("ocamlfind") is not None,
    }
    return [name for name in PACKAGES if not present[name]]


def installed() -> bool:
    """Whether all tools are there; installs them first where that is possible."""
    missing = tools_missing()
    if missing and os.geteuid() == 0 and shutil.which("apt-get"):
        print(f"installing {' '.join(missing)}", flush=True)
        subprocess.run(["apt-get", "update", "-qq"], check=False)
        subprocess.run(
            ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *missing], check=False, stdout=subprocess.DEVNULL
        )
        missing = tools_missing()
    if missing:
        print(f"the theorems need {', '.join(missing)}; on Debian and Ubuntu: apt install {' '.join(missing)}")
    return not missing


def compiled(folder: Path, name: str) -> str | None:
    """Compiles a file of the folder; returns the error, if any."""
    run = subprocess.run(
        ["coqc", "-q", "-w", "none", "-Q", ".", "tacit", f"{name}.v"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    return None if run.returncode == 0 else run.stderr


def assumed(folder: Path, names: dict[str, list[str]]) -> dict[str, list[str]]:
    """The axioms that each theorem rests on, as Coq prints them."""
    asked = [(module, name) for module, listed in names.items() for name in listed]
    text = "".join(f"From tacit Require {module}.\n" for module in names)
    text += "".join(
        f'Redirect "out{place}" Print Assumptions tacit.{module}.{name}.\n' for place, (module, name) in enumerate(asked)
    )
    (folder / "Assumptions.v").write_text(text, "utf-8")
    error = compiled(folder, "Assumptions")
    if error:
        raise SystemExit(f"a theorem of theorems.toml is missing:\n{error}")
    printed = {f"{module}.{name}": (folder / f"out{place}.out").read_text("utf-8") for place, (module, name) in enumerate(asked)}
    return {name: [] if "Closed under" in text else axioms(text) for name, text in printed.items()}


def axioms(text: str) -> list[str]:
    """The names of what `Print Assumptions` prints; the arithmetic of the processor's integers, which intervals use, as one."""
    names = set(re.findall(r"^([\w.']+)(?= :|$)", text, re.MULTILINE)) - {"Axioms", "Section"}
    return sorted({MACHINE if name.startswith(("PrimInt63.", "Uint63.")) else name for name in names})


def mistakes_caught(folder: Path) -> list[str]:
    """Tries every planted mistake; returns those that Coq did not refuse in a proof."""
    passed = []
    for name, row in tomllib.loads((HERE / "mistakes.toml").read_text("utf-8")).items():
        source = (HERE / f"{row['file']}.v").read_text("utf-8")
        if source.count(row["old"]) != 1:
            raise SystemExit(f"mistake {name}: its text must be in {row['file']}.v once")
        place = folder / f"{row['file']}.v"
        place.write_text(source.replace(row["old"], row["new"]), "utf-8")
        error = compiled(folder, row["file"])
        refused = error is not None and any(words in error for words in IN_A_PROOF)
        print(f"  {name}: {'refused' if refused else 'NOT REFUSED'} ({row['why']})", flush=True)
        if not refused:
            passed.append(f"{name}: {error}")
        place.write_text(source, "utf-8")
    return passed


def build_comparison(folder: Path) -> Path:
    """The extracted functions as a program."""
    for file in ("Extract.v", "driver.ml"):
        shutil.copy(HERE / "comparison" / file, folder)
    error = compiled(folder, "Extract")
    if error:
        raise SystemExit(error)
    command = ["ocamlfind", "ocamlopt", "-w", "-a", "model.mli", "model.ml", "driver.ml", "-o", "model"]
    subprocess.run(command, cwd=folder, check=True)
    return folder / "model"


def checked(cases: int) -> dict[str, object]:
    """Runs all four parts; the result, or an exit with what failed."""
    bad = [file.name for file in HERE.glob("*.v") if FORBIDDEN.search(COMMENT.sub("", file.read_text("utf-8")))]
    if bad:
        raise SystemExit(f"an axiom or an unfinished proof in {', '.join(bad)}")
    with tempfile.TemporaryDirectory(prefix="tacit-theorems-") as temporary:
        folder = Path(temporary)
        for name in ORDER:
            shutil.copy(HERE / f"{name}.v", folder)
            start = time.monotonic()
            error = compiled(folder, name)
            if error:
                raise SystemExit(error)
            print(f"  {name}: {len(theorems().get(name, []))} theorems, {time.monotonic() - start:.0f} s", flush=True)
        assumptions = assumed(folder, theorems())
        allowed = set((HERE / "assumptions.txt").read_text("utf-8").split())
        for name, listed in assumptions.items():
            print(f"  {name} assumes {', '.join(listed) or 'nothing'}")
            if set(listed) - allowed:
                raise SystemExit(f"{name} assumes {sorted(set(listed) - allowed)}, which assumptions.txt does not list")
        program = build_comparison(folder)
        comparison = subprocess.Popen([sys.executable, str(HERE / "compare.py"), str(program), "--cases", str(cases)])
        try:
            passed = mistakes_caught(folder)
        finally:
            compared = comparison.wait()
        if compared:
            raise SystemExit("the extracted functions and tacit's Python differ, or a planted error was not noticed")
        if passed:
            raise SystemExit("mistakes that were not refused:\n" + "\n".join(passed))
    mistakes = len(tomllib.loads((HERE / "mistakes.toml").read_text("utf-8")))
    return {"sources": hash_of_sources(), "theorems": assumptions, "mistakes": mistakes, "cases": cases}


def main() -> int:
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument(
        "--cases", type=int, default=100_000, help="random inputs on which the extracted functions and tacit are compared"
    )
    cases = reader.parse_args().cases
    if not installed():
        return 2
    result = checked(cases)
    (HERE / "result.json").write_text(json.dumps(result, indent=1) + "\n", "utf-8")
    print(f"{len(result['theorems'])} theorems checked, {result['mistakes']} planted mistakes refused")
    return 0


if __name__ == "__main__":
    sys.exit(main())
