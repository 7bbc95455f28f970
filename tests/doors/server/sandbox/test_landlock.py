"""Ports under Landlock: which a process connects to, and whether the kernel may choose one for it."""

from __future__ import annotations

import errno
import socket
import subprocess
import sys

import pytest

from tacit.doors.server.sandbox import landlock
from tacit.doors.server.sandbox.kernel import KNOWN

pytestmark = pytest.mark.skipif(not KNOWN or landlock.version() < landlock.TCP_ABI, reason="needs Landlock of ABI 4")
PROGRAM = """
import errno, socket, sys
from tacit.doors.server.sandbox.landlock import Reach, restrict
from tacit.doors.server.sandbox.limits import no_new_privileges

own, named = sys.argv[1] == "True", int(sys.argv[2])
no_new_privileges()
restrict(Reach(own_port=own))
for port in (0, named):
    with socket.socket() as line:
        print(errno.errorcode.get(line.connect_ex(("127.0.0.1", named)), "-") if port else "-", end=" ")
        try:
            line.bind(("127.0.0.1", port))
            print("bound")
        except OSError as error:
            print(errno.errorcode[error.errno])
"""


@pytest.mark.parametrize("own", [True, False])
def test_a_port_of_its_own_is_one_that_the_kernel_chooses(own):
    with socket.create_server(("127.0.0.1", 0)) as other:
        named = str(other.getsockname()[1])
    said = subprocess.run([sys.executable, "-c", PROGRAM, str(own), named], capture_output=True, text=True, check=True).stdout
    denied = errno.errorcode[errno.EACCES]
    assert said.splitlines() == [f"- {'bound' if own else denied}", f"{denied} {denied}"]
