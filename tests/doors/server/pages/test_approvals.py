"""The pages of questions that wait: the curator decides, the analyst sees it, and text is text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from served import Served, served
from tacit.doors.server.turns import Places
from visiting import visitor

SQL = "SELECT COUNT(*) AS n FROM visits WHERE cost < 77.25 -- <script>alert(1)</script>"


@pytest.fixture
def hospital(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path) as found:
        file = found.folder / "tacit.toml"
        file.write_text(re.sub(r"(\[budget\].*)", r"\1\napprove_above = 0.3", file.read_text("utf-8"), count=1), "utf-8")
        found.desk.places = Places(rate=1e9, burst=1e9)
        found.call("ask", sql=SQL, epsilon="0.4")
        yield found


def test_a_curator_reads_and_decides_and_the_analyst_asks_it_now(hospital: Served) -> None:
    ana, cara = visitor(hospital, "ana"), visitor(hospital, "cara")
    listed = cara.get("/approvals")
    assert SQL in {code.text for code in listed.all("code")}
    assert not listed.all("script")
    (link,) = listed.all("a", class_="button")
    page = cara.get(link.given["href"])
    assert "keep at most 8 rows per unit" in page.text
    assert "0.4" in page.one("button", value="approved").text
    wrong = cara.post("/approvals", name="ana", number="1", decision="reduced", epsilon="0.9")
    assert wrong.status_code == 422
    assert cara.post("/approvals", name="ana", number="1", decision="reduced", epsilon="no").status_code == 422
    assert cara.post("/approvals", name="ana", number="1", decision="approved", reason="fine").status_code == 303
    waiting = ana.get("/waiting")
    assert "approved" in waiting.text
    (again,) = waiting.all("a", class_="button")
    assert quote(SQL, safe="/") in again.given["href"]
    assert again.given["href"].endswith("epsilon=0.4")
    assert hospital.call("ask", sql=SQL, epsilon="0.4").status == 200
    assert "asked" in ana.get("/waiting").text
    assert cara.post("/approvals", name="ana", number="1", decision="approved").status_code == 422


def test_an_analyst_withdraws_and_no_other_role_sees_the_page(hospital: Served) -> None:
    ana = visitor(hospital, "ana")
    assert ana.post("/waiting", number="1").status_code == 303
    assert json.loads(hospital.call("waiting").body)["questions"][0]["state"] == "withdrawn"
    assert "No question waits." in visitor(hospital, "cara").get("/approvals").text
    assert visitor(hospital, "bob").get("/waiting").text.count("withdrawn") == 0
    assert hospital.call("approvals").status == 403
