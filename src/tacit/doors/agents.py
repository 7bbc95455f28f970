"""`tacit mcp`: the tools of an agent, by the Model Context Protocol on standard input and output.

An agent asks as its analyst does, through the same ledger, and each question names its epsilon. A model that was talked into an
attack is one more hostile analyst, against whom the promise holds; `--most` limits what it can spend.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any, ParamSpec, TypeVar

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import Field

from tacit.doors.limited import Limited
from tacit.errors import TacitError

INSTRUCTIONS = """\
These tools ask a private statistical database with differential privacy. Only aggregates are answered (COUNT, SUM, AVG, quantiles,
GROUP BY); no tool shows rows of people. Each question spends epsilon from a budget that is never refunded: call `tables` and
`explain` first, which are free, and ask each question once. Every number has an interval that covers the noise; report it."""
FREE, PAID = ToolAnnotations(read_only_hint=True), ToolAnnotations(read_only_hint=False, idempotent_hint=True)
Sql = Annotated[str, Field(description="One SELECT over the declared tables, with aggregates.", max_length=65_536)]
Epsilon = Annotated[str, Field(description="Privacy loss to spend, as decimal text such as 0.1.", max_length=32)]
Given = Annotated[dict[str, str | int | float | bool | None] | None, Field(description="Values of :name in the SQL.")]
P = ParamSpec("P")
R = TypeVar("R")


def mcp_server(session: Limited) -> MCPServer[Any]:
    """The server of a session's tools."""
    server: MCPServer[Any] = MCPServer("tacit", instructions=INSTRUCTIONS, log_level="ERROR")

    @server.tool(annotations=FREE)
    @_with_remedies
    def tables() -> list[dict[str, Any]]:
        """List the declared tables with their columns, bounds, values, units and limits. Free."""
        return session.tables()  # type: ignore[no-any-return]

    @server.tool(annotations=FREE)
    @_with_remedies
    def explain(sql: Sql, epsilon: Epsilon = "1", params: Given = None) -> str:
        """Show the price, the noise and the expected error of a question before it is asked. Free."""
        return str(session.explain(sql, epsilon=epsilon, params=params))

    @server.tool(annotations=PAID)
    @_with_remedies
    def ask(sql: Sql, epsilon: Epsilon, params: Given = None) -> str:
        """Answer a question with noise and intervals. Spends epsilon; the same question again costs nothing."""
        return str(session.sql(sql, epsilon=epsilon, params=params))

    @server.tool(annotations=FREE)
    @_with_remedies
    def budget() -> dict[str, Any]:
        """Show the caps, what was spent and what remains. Free."""
        left = session.left
        limit = {} if left is None else {"this_session": {"left": str(float(left))}}
        return {**session.budget(), **limit}

    @server.tool(annotations=FREE)
    @_with_remedies
    def history(last: Annotated[int, Field(ge=1, le=200, description="How many entries.")] = 20) -> list[dict[str, Any]]:
        """List the latest questions of this analyst with their prices. Free."""
        return session.history(last)  # type: ignore[no-any-return]

    return server


def _with_remedies(tool: Callable[P, R]) -> Callable[P, R]:
    """The tool, with every error of tacit as a text that its caller reads; the SDK hides all others."""

    @wraps(tool)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return tool(*args, **kwargs)
        except TacitError as error:
            code = getattr(error, "code", "invalid")
            raise ToolError(f"{code}: {error}") from None

    return call
