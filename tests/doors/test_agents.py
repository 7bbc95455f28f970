"""The tools of an agent, asked by the SDK's own client: in this process, and once as `tacit mcp` on pipes."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from hospital import files, hospital_session
from tacit.doors.limited import Limited
from tacit.session import Session
from tacit.session import open as open_data

mcp = pytest.importorskip("mcp")
COUNT = "SELECT COUNT(*) AS n FROM visits WHERE cost > {}"


def run_apart(conversation: Callable[[], Awaitable[Any]]) -> Any:
    """The outcome of a conversation in a thread of its own: another test may have left its loop running in this one."""

    async def outcome() -> Any:
        return await conversation()

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, outcome()).result()


def talk(session: Session, most: str | None, talking: Callable[[Any], Awaitable[Any]]) -> Any:
    """What a conversation with the tools of a session returns."""
    from tacit.doors.agents import mcp_server

    async def main() -> Any:
        async with mcp.Client(mcp_server(Limited(session, most))) as client:
            return await talking(client)

    return run_apart(main)


def test_tools_say_what_they_do(tmp_path):
    with hospital_session(tmp_path) as ana:
        tools = {tool.name: tool for tool in talk(ana, None, lambda client: client.list_tools()).tools}
    assert set(tools) == {"tables", "explain", "ask", "budget", "history"}
    assert all(tool.description for tool in tools.values())
    assert tools["ask"].input_schema["required"] == ["sql", "epsilon"], "there is no default epsilon"
    assert [name for name, tool in tools.items() if not tool.annotations.read_only_hint] == ["ask"]


def test_an_agent_asks_within_its_limit(tmp_path):
    async def talking(client: Any) -> list[tuple[bool, str]]:
        replies = []
        for tool, given in (
            ("tables", {}),
            ("explain", {"sql": COUNT.format(1)}),
            ("ask", {"sql": COUNT.format(1), "epsilon": "0.2"}),
            ("ask", {"sql": COUNT.format(":c"), "epsilon": "0.05", "params": {"c": 7}}),
            ("ask", {"sql": COUNT.format(2), "epsilon": "0.2"}),
            ("ask", {"sql": "SELECT ward FROM visits", "epsilon": "0.01"}),
            ("ask", {"sql": COUNT.format(3)}),
            ("budget", {}),
            ("history", {"last": 1}),
        ):
            result = await client.call_tool(tool, given)
            replies.append((bool(result.is_error), "\n".join(part.text for part in result.content)))
        return replies

    with hospital_session(tmp_path) as ana:
        tables, price, asked, filled, beyond, rows, unpriced, budget, history = talk(ana, "0.3", talking)
        assert ana.budget()["analyst"]["spent"]["epsilon"] == "0.25"
    assert not tables[0]
    assert "visits" in tables[1]
    assert [each[0] for each in (price, asked, filled)] == [False] * 3
    assert "epsilon" in price[1]
    assert beyond[0]
    assert "budget_exceeded: " in beyond[1]
    assert "start again with a larger limit" in beyond[1]
    assert rows[0]
    assert "not_allowed: " in rows[1]
    assert unpriced[0]
    assert json.loads(budget[1])["this_session"] == {"left": "0.05"}
    assert "cost > " in history[1]


def test_the_command_speaks_on_pipes(tmp_path):
    """Nothing but the protocol is on standard output."""
    from mcp.client.stdio import StdioServerParameters, stdio_client

    catalog = files(tmp_path)
    with open_data(catalog, own_process=False) as data:
        data.prepare(yes=True)
        data.begin_scratch("a test")
    words = ["-m", "tacit", "mcp", "--most", "0.1", "--analyst", "ana", "--catalog", str(catalog)]

    async def main() -> Any:
        async with mcp.Client(stdio_client(StdioServerParameters(command=sys.executable, args=words))) as client:
            result = await client.call_tool("ask", {"sql": COUNT.format(1), "epsilon": "0.1"})
            again = await client.call_tool("ask", {"sql": COUNT.format(2), "epsilon": "0.1"})
            return result.is_error, result.content[0].text, again.is_error

    failed, text, beyond = run_apart(lambda: asyncio.wait_for(main(), 120))
    assert not failed, text
    assert "epsilon 0.1" in text
    assert beyond
