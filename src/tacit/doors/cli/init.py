"""How a catalog begins: `tacit init` asks for it or drafts it, and `tacit schema` has the rules for editors."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.doors.cli.output import at_terminal, bar, console, keep_what_is_read, print_json, read_line, say
from tacit.doors.cli.which_catalog import NAME
from tacit.errors import InvalidInput
from tacit.files import write
from tacit.privacy.rounding import counted

if TYPE_CHECKING:
    from tacit.data.catalog.codebook import Codebook
    from tacit.data.catalog.draft import Answers
    from tacit.data.catalog.suggest import Declaration, Suggestion
    from tacit.data.files.fitting import Fit, Fits
    from tacit.data.files.kinds import Field, Found

STOPPED = 130
FOR_THE_OWNER = "Rows were read to see which forms fit nearly all values: this is for the data owner only."
HOISTED = {"decimal": "number", "thousands": "number", "format": "date"}  # said once for the table if its columns of a kind agree


def init(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCE...",
            help="CSV, Parquet, DuckDB or Excel files, folders or patterns of CSV or Parquet files, or PostgreSQL URLs.",
        ),
    ],
    out: Annotated[Path, typer.Option("--out", metavar="PATH", help="Output path of the catalog.")] = Path(NAME),
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing catalog.")] = False,
    no_input: Annotated[bool, typer.Option("--no-input", help='Ask nothing: write a draft with "?" in open places.')] = False,
    codebook: Annotated[
        Path | None,
        typer.Option("--codebook", metavar="PATH", help="Data dictionary: .csv, .json (also Frictionless), .xml (DDI) or .sql."),
    ] = None,
    kinds: Annotated[
        bool, typer.Option("--kinds", help="For the data owner: read rows to see which kinds, formats and encodings fit.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Accept the kinds that --kinds finds without asking.")] = False,
    encoding: Annotated[str, typer.Option(metavar="NAME", help="Encoding of CSV files, for example windows-1252.")] = "utf-8",
    separator: Annotated[
        str, typer.Option(metavar="SIGN", help="Sign between the fields of CSV files; by default, as the header shows.")
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON; asks nothing.")] = False,
) -> None:
    """Write a catalog: asks about each column on a terminal, with suggestions from names. Reads no values without --kinds.

    Example: tacit init patients.parquet --out draft.toml
    """
    from tacit.data.catalog.draft import draft, with_unique_names
    from tacit.data.files.columns import SCHEMES

    keep_what_is_read(out, *(Path(each) for each in files if not each.startswith(SCHEMES)), *([codebook] if codebook else []))
    _refuse_existing(out, force)
    if yes and not kinds:
        raise InvalidInput("--yes accepts what --kinds finds; add --kinds", argument="yes")
    form = text_form(encoding, separator)
    pairs = [(file, table) for file in files for table in _tables_at(file, out, form, kinds)]
    if not pairs:
        raise InvalidInput("no table found; give files that contain tables")
    tables = with_unique_names(table for _, table in pairs)
    advice = _advice([file for file, _ in pairs], tables, codebook, kinds)
    asking = at_terminal() and not no_input and not as_json
    if not as_json:
        _print_advice(advice)
    answers, budget = _ask(tables, advice) if asking else (advice.answers(tables, yes), {})
    text = draft(tables, answers, budget)
    _write(out, text, force)
    _report(out, tables, answers, text, advice if as_json else None)
    if not as_json and any("$PGPASSWORD" in str(table.source) and "$PGPASSWORD" not in " ".join(files) for table in tables):
        say("the password is not written: set PGPASSWORD in the environment of `tacit prepare`")


def _tables_at(source: str, out: Path, form: dict[str, str], kinds: bool) -> tuple[Found, ...]:
    """The tables of a source; with --kinds, a header that is not UTF-8 is read in its likely encoding."""
    from tacit.data.files.columns import likely_encoding, tables_at

    try:
        return tuple(tables_at(source, partial(_seen_from, out), form))
    except InvalidInput:
        if not kinds or "encoding" in form or not Path(source).is_file():
            raise
        return tuple(tables_at(source, partial(_seen_from, out), {**form, "encoding": likely_encoding(Path(source))}))


def text_form(encoding: str, separator: str) -> dict[str, str]:
    """The encoding and the separator of CSV files as a catalog declares them, where they are not the default."""
    from tacit.data.catalog.columns import read_encoding
    from tacit.data.declaration import Wrong
    from tacit.data.declaration import schema as of_the_catalog

    signs = of_the_catalog()["definitions"]["table"]["properties"]["separator"]["enum"]
    sign = separator.replace("\\t", "\t")
    if sign and sign not in signs:
        raise InvalidInput(
            f"unsupported separator {separator!r}; expected one of {' '.join(map(repr, signs))}", argument="separator"
        )
    try:
        codec = read_encoding(encoding)
    except Wrong as wrong:
        raise InvalidInput(f"encoding {wrong.what}; {wrong.remedy}", argument="encoding") from None
    return {**({} if codec == "utf-8" else {"encoding": encoding}), **({"separator": sign} if sign else {})}


def _seen_from(out: Path, file: Path) -> str:
    """The path to write: relative where the file lies in the catalog's folder or below it."""
    folder, target = out.absolute().parent.resolve(), Path(os.path.abspath(file.parent.resolve() / file.name))
    return target.relative_to(folder).as_posix() if target.is_relative_to(folder) else target.as_posix()


def _refuse_existing(out: Path, force: bool) -> None:
    if out.exists() and not force:
        raise InvalidInput(f"{out} already exists; overwrite it with --force, or choose another file with --out")


def _write(out: Path, text: str, force: bool) -> None:
    """The catalog, and beside it the schema that its first line names: editors complete the file without a network."""
    from tacit.data.catalog.draft import SCHEMA
    from tacit.data.declaration import schema as of_the_catalog
    from tacit.untrusted import for_json

    _refuse_existing(out, force)
    write(out.absolute().parent / SCHEMA, for_json(dict(of_the_catalog()), indent=2) + "\n", private=True)
    write(out, text, force=force)


def _ask(tables: Sequence[Found], advice: Advice) -> tuple[list[Answers], dict[str, object]]:
    """The answers of the data owner. Ctrl-C ends the command and writes nothing; Ctrl-D keeps the answers so far."""
    from tacit.doors.cli.asking import WELCOME, Asker, Dialogue

    dialogue = Dialogue(tables, advice.suggestion, {table.name: advice.notes(table) for table in tables})
    say(WELCOME)
    try:
        Asker(read_line, say).run(dialogue)
    except KeyboardInterrupt:
        say("\nStopped: nothing was written.", to_stderr=True)
        raise typer.Exit(STOPPED) from None
    except EOFError:
        say("")
    return dialogue.answers, dialogue.budget


def _report(out: Path, tables: Sequence[Found], answers: Sequence[Answers], text: str, advice: Advice | None) -> None:
    places, columns = _places(text), sum(len(table.fields) for table in tables)
    left_out = sum(declared is None for each in answers for declared in each.columns.values())
    if advice is not None:
        report = {"catalog": str(out.absolute()), "tables": len(tables), "columns": columns, "to_fill_in": places}
        print_json(report | advice.as_json())
        return
    rest = f'{counted(places, "place")} marked "?" to fill in' if places else "nothing left to fill in"
    skipped = f", {left_out} left out" if left_out else ""
    without = sum(each.left_out for each in answers)
    whole = f" ({without} left out)" if without else ""
    say(f"{out}: {counted(len(tables), 'table')}{whole}, {counted(columns, 'column')}{skipped}, {rest}")
    if places:
        say("then `tacit check` says what is left, and `tacit prepare` reads the data")
    else:
        say("next: tacit prepare --new-ledger")


def _places(text: str) -> int:
    """How many places are to be filled in or corrected."""
    from tacit.data.catalog import parse_catalog
    from tacit.errors import InvalidCatalog

    try:
        parse_catalog(text)
    except InvalidCatalog as unfinished:
        return len(unfinished.problems)
    return 0


# --- suggestions from names, a code book, and the forms that fit -------------------------------------------------------------


@dataclass(frozen=True)
class Advice:
    """Everything that suggests a declaration: a code book, and the forms that fit each table's values, for the owner."""

    book: Codebook
    fits: Mapping[str, Fits] = field(default_factory=dict)

    def suggestion(self, table: Found, column: Field, unit: object) -> Suggestion:
        """The suggestion for a column: the code book first, then its name, its type, and the form that fits."""
        from tacit.data.catalog.suggest import PRESENT, suggest_column

        named, written = suggest_column(table, column, unit), self.book.suggestion(table.name, column.name)
        fit = self.fits[table.name].columns.get(column.name) if table.name in self.fits else None
        if named.declaration == PRESENT and isinstance(unit, Mapping):
            return named
        if written is not None and (not written.is_open or named.declaration is None or named.is_open):
            return _with_notation(written, fit, self.notes(table))
        return named if fit is None else _with_notation(_fitting(named, fit), fit, self.notes(table))

    def notes(self, table: Found) -> dict[str, object]:
        """Keys of a table that the forms of its values give: its encoding, and signs and formats that its columns share."""
        if table.name not in self.fits:
            return {}
        fits = self.fits[table.name]
        keys: dict[str, object] = {"encoding": fits.encoding} if fits.encoding and "encoding" not in table.declared else {}
        for key, kind in HOISTED.items():
            relevant = [fit for fit in fits.columns.values() if fit.kind == kind and (fit.step or fit.notation)]
            signs = {fit.notation.get(key) for fit in relevant}
            if len(signs) == 1 and (sign := signs.pop()) is not None:
                keys[key] = sign
        return keys

    def answers(self, tables: Sequence[Found], accepted: bool) -> list[Answers]:
        """The answers without a question: what a code book declares, and with `accepted` the forms that fit."""
        from tacit.data.catalog.draft import Answers

        each = []
        for table in tables:
            columns = {column.name: self._known(table, column, accepted) for column in table.fields}
            declared: dict[str, Declaration | None] = {name: one.declaration for name, one in columns.items() if one is not None}
            each.append(Answers(self.notes(table) if accepted else {}, declared))
        return each

    def _known(self, table: Found, column: Field, accepted: bool) -> Suggestion | None:
        written = self.book.suggestion(table.name, column.name)
        fit = self.fits[table.name].columns.get(column.name) if accepted and table.name in self.fits else None
        if written is not None:
            return _with_notation(written, fit, self.notes(table))
        if fit is None or fit.kind in ("", "text"):
            return None
        from tacit.data.catalog.suggest import Suggestion

        return _with_notation(_fitting(Suggestion(None, ""), fit), fit, self.notes(table))

    def as_json(self) -> dict[str, Any]:
        """The code book's rest and the forms, where they were asked for."""
        forms = {table: {name: fit.words for name, fit in fits.columns.items()} for table, fits in self.fits.items()}
        said = {"not_understood": list(self.book.not_understood)} if self.book.columns or self.book.not_understood else {}
        return said | ({"for_the_curator_alone": {"kinds": forms}} if self.fits else {})


def _fitting(named: Suggestion, fit: Fit) -> Suggestion:
    """A suggestion by name if the form allows it, else one by the form."""
    from tacit.data.catalog.suggest import DATE, NUMBER, TEXT, TRUTH, Suggestion

    by_form: dict[str, Declaration] = {"number": NUMBER, "date": DATE, "truth": TRUTH, "text": TEXT}
    if not fit.kind or (named.declaration is None and named.why):
        return named
    declared = named.declaration or {}
    kind = "date" if declared.get("type") == "date" else "number" if "bounds" in declared else "text"
    if declared and (kind == fit.kind or (kind == "text" and fit.kind in ("text", "number") and not named.is_open)):
        return named
    step = {"step": fit.step} if fit.step is not None else {}
    return Suggestion({**by_form[fit.kind], **step}, f"its values fit: {fit.words}")


def _with_notation(suggestion: Suggestion, fit: Fit | None, shared: Mapping[str, object]) -> Suggestion:
    """The suggestion with signs and formats of its values, unless the table says them."""
    declared = suggestion.declaration
    if fit is None or not declared or "bounds" not in declared:
        return suggestion
    own = {key: sign for key, sign in fit.notation.items() if key not in shared}
    step = {"step": fit.step} if fit.step is not None and "step" not in declared and declared.get("type") != "date" else {}
    return replace(suggestion, declaration={**declared, **step, **own})


def _advice(files: Sequence[str], tables: Sequence[Found], codebook: Path | None, kinds: bool) -> Advice:
    from tacit.data.catalog.codebook import Codebook, read_codebook

    book = Codebook() if codebook is None else read_codebook(codebook)
    if not kinds:
        return Advice(book)
    from tacit.data.files.fitting import fits_of

    with bar("reading which kinds fit") as told:
        fits = {}
        for place, (file, table) in enumerate(zip(files, tables, strict=True)):
            if isinstance(table.source, str) and Path(file).is_file():
                fits[table.name] = fits_of(Path(file), table.fields, table.declared)
            if told is not None:
                told(f"reading {table.name}", (place + 1) / len(tables))
    return Advice(book, fits)


def _print_advice(advice: Advice) -> None:
    from rich.table import Table

    if advice.fits:
        grid = Table("table", "column", "what fits nearly all values", box=None, header_style="bold", padding=(0, 2))
        for table, fits in advice.fits.items():
            about = f"{fits.encoding or 'UTF-8'}, separated by {fits.separator}" if fits.separator else ""
            if about:
                grid.add_row(table, "", about)
            for name, fit in fits.columns.items():
                grid.add_row(table, name, fit.words)
        console().print(grid)
        say(FOR_THE_OWNER)
    if advice.book.columns:
        say("Take a range from the code book only if it is declared there: one that was observed in rows is private.")
    for line in advice.book.not_understood:
        say(f"not taken from the code book: {line}")


def schema(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON (always the case).")] = False,
) -> None:
    """Print the JSON Schema of tacit.toml, for editors to validate and complete it.

    Example: tacit schema
    """
    from tacit.data.declaration import schema as of_the_catalog

    print_json(dict(of_the_catalog()))
