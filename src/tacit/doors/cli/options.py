"""How options are named: in the messages of a command, and in its help.

The library speaks of its arguments, as in `give for example confidence=0.95`, and an error carries those that it names. Whoever
typed a command has options instead, so the command line says `--confidence 0.95` wherever the command has that option.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, get_type_hints

from typer import BadParameter
from typer.core import TyperCommand, TyperGroup
from typer.models import OptionInfo

from tacit.privacy.rounding import is_decimal

NO_NUMBERS = ("nan", "inf", "infinity")  # which commands refuse in words of their own
OTHERWISE = {"flip": "p", "ratio": "ratios", "half_width": "error"}  # arguments under another name, as one or several


def options_of(command: Callable[..., None]) -> dict[str, str]:
    """The options of a command, by the names of its parameters.

    >>> from tacit.doors.cli.ask import sql
    >>> options_of(sql)["epsilon"], options_of(sql)["as_csv"]
    ('--epsilon', '--csv')
    """
    hints = get_type_hints(command, include_extras=True)
    declared = {name: info for name, hint in hints.items() for info in getattr(hint, "__metadata__", ())}
    named = {name: _option(name, info) for name, info in declared.items() if isinstance(info, OptionInfo)}
    return {argument: named[other] for argument, other in OTHERWISE.items() if other in named} | named


def _option(name: str, info: OptionInfo) -> str:
    names = (info.default, *(info.param_decls or ()))  # inside of Annotated, typer takes the first name for a default
    return next((each for each in names if isinstance(each, str) and each.startswith("--")), f"--{name.replace('_', '-')}")


def with_options(text: str, arguments: Iterable[str], options: Mapping[str, str]) -> str:
    """The message of an error, with each of the arguments that it carries named as the option of a command.

    An argument is the first word of a message, or has its value behind it.

    >>> with_options("flip is below 1/2, not 2; give for example flip=1/4", ["flip"], {"flip": "--p"})
    '--p is below 1/2, not 2; give for example --p 1/4'
    >>> with_options("estimate with simultaneous=True", ["simultaneous"], {"simultaneous": "--simultaneous"})
    'estimate with --simultaneous'
    """
    words = text.split(" ")
    for argument in options.keys() & set(arguments):
        words = [_option_for(word, argument, options[argument]) for word in words]
        if words[0] == argument:
            words[0] = options[argument]
    return " ".join(words)


def _option_for(word: str, argument: str, option: str) -> str:
    """`confidence=0.95` as `--confidence 0.95`, and `simultaneous=True` as `--simultaneous`; any other word as it is."""
    name, _, value = word.partition("=")
    if name != argument or not value:
        return word
    return option if value == "True" else f"{option} {value}"


class Command(TyperCommand):
    """A command whose help shows no type beside an option that takes no value, and whose numbers are ASCII decimals."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The parameters, with numbers and flags described plainly in the help."""
        return _flags_without_type(list(map(_with_plain_numbers, super().get_params(ctx))))


class Group(TyperGroup):
    """A group of commands, with the same in its help."""

    def get_params(self, ctx: Any) -> list[Any]:
        """The parameters, with flags described plainly in the help."""
        return _flags_without_type(list(map(_with_plain_numbers, super().get_params(ctx))))


def _with_plain_numbers(parameter: Any) -> Any:
    """The parameter, with a number refused that Python would read and people would not: " 1", "1_0", digits of other scripts."""
    if not isinstance(parameter.process_value, partial):
        parameter.process_value = partial(_processed, parameter, parameter.process_value)
    return parameter


def _processed(parameter: Any, process: Callable[[Any, Any], Any], ctx: Any, value: Any) -> Any:
    if _needs_no_reading(parameter, value):
        taken = () if value is None and (parameter.multiple or parameter.nargs != 1) else value
        return parameter.callback(ctx, parameter, taken) if parameter.callback else taken
    read = process(ctx, value)
    plain = not isinstance(value, str) or is_decimal(value) or value.lower().lstrip("+-") in NO_NUMBERS
    if isinstance(read, int | float) and not isinstance(read, bool) and not plain:
        raise BadParameter(f"{value!r} is not a plain number; write it like 20, 0.5 or 1e-6")
    return read


def _needs_no_reading(parameter: Any, value: Any) -> bool:
    """Whether typer would take a value as it is: an option not given, or a text in ASCII. Typer loads pydantic to find out."""
    if value is None:
        return not parameter.required
    declared = getattr(parameter, "type_descriptor", None)
    return declared is not None and declared.annotation is str and type(value) is str and value.isascii()


def _flags_without_type(parameters: list[Any]) -> list[Any]:
    for each in parameters:
        if getattr(each, "is_flag", False) and each.metavar is None:
            each.metavar = " "  # nothing at all would be read as: not given, so show the type
    return parameters
