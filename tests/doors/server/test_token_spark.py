"""A Spark Connect server that wants a token and TLS, behind the server, and that is killed and started again."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from behind_connect import LONG, Place, answered, ask, hospital_served, new
from clusters import SPARK, connect_server
from served import self_signed
from services import Missing, _free_port
from serving import Server, serving
from tacit.data.spark.connect import ROOTS
from tacit.doors.server.sandbox.kernel import KNOWN
from valve import Valve, tls_before

pytestmark = [*SPARK, pytest.mark.slow, pytest.mark.skipif(not KNOWN, reason="processes are looked up in /proc")]
TOKEN = "a-token-of-spark-connect"  # noqa: S105  # of a test


def test_a_token_over_tls_and_a_cluster_that_is_started_again(tmp_path, monkeypatch):
    """The token is in the environment of the engine, and in no message, log or command line."""
    pytest.importorskip("grpc", reason="install grpcio (pip install 'tacit[test]') to run these tests")
    certificate, key = self_signed(tmp_path)
    monkeypatch.setenv("SPARK_TOKEN", TOKEN)
    monkeypatch.setenv(ROOTS, str(certificate))
    settings, port = {"spark_connect_authenticate_token": TOKEN}, _free_port()
    try:
        with connect_server(port, **settings) as (_, process), tls_before(port, certificate, key) as front, ExitStack() as later:
            tokens = hospital_served(tmp_path, f"sc://localhost:{front}/;use_ssl=true;token=$SPARK_TOKEN")
            said = tmp_path / "said"
            server = later.enter_context(serving(tmp_path, tokens, seconds=LONG, said=said))
            place = Place(server, later.enter_context(Valve(port)), port, 0, said)
            assert ask(place, new(100))[0] == 200
            process.kill()
            process.wait()
            assert ask(place, new(101))[1]["error"]["code"] == "unavailable"
            later.enter_context(connect_server(port, **settings))
            assert answered(place, 102) == 200
            heard = [
                said.read_text("utf-8"),
                *place.log(),
                *(Path(f"/proc/{part}/cmdline").read_text() for part in everybody(server)),
            ]
            assert not [each for each in heard if TOKEN in each]
            having = {name for name, parts in server.parts().items() if TOKEN in Path(f"/proc/{parts[0]}/environ").read_text()}
            assert having == {"engine"}
    except Missing as missing:
        pytest.skip(str(missing))


def everybody(server: Server) -> list[int]:
    return [process for processes in server.parts().values() for process in processes]
