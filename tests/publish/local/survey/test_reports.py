"""The store: each person counts once, nothing is lost, and nothing tells who came when."""

import json
import sqlite3
import stat
import subprocess
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest

from surveys import ANSWERS, every_method
from tacit.errors import StoreUnusable
from tacit.publish.local.survey.reports import Form, Report, SetAside, Store

SURVEY = every_method()
FORM = Form.of(SURVEY)
OPEN = datetime(2080, 1, 1, tzinfo=UTC)


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "answers.sqlite", SURVEY) as opened:
        yield opened


def secret(number: int) -> bytes:
    return number.to_bytes(32, "big")


def report(number: int, **changes: object) -> bytes:
    return FORM.text_of(ANSWERS | changes, secret(number)).encode()


def test_reports_are_counted_once_and_the_rest_is_kept_with_its_reason(store):
    other = next(text for no in (0, 1) if (text := report(1, yes=no, few=1, many=0)) != report(1))
    texts = [
        report(1),
        b"nonsense",
        report(2),
        report(1),
        other,
        b"nonsense",
        b"\xff",
        FORM.text_of(ANSWERS, secret(3)).replace("every", "avery").encode(),
    ]
    outcomes = [type(each).__name__ if isinstance(each, Report) else each.reason for each in store.take_all(texts, OPEN)]
    assert outcomes == ["Report", "malformed", "Report", "duplicate", "duplicate", "malformed", "malformed", "foreign"]
    assert store.take(report(4), datetime(2099, 1, 1, tzinfo=UTC)).reason == "late"
    assert store.counts() == {"counted": 2, "malformed": 3, "foreign": 1, "late": 1, "duplicate": 2}
    kept = {(each.reason, each.text): each.times for each in store.set_aside()}
    assert kept == {
        ("malformed", b"nonsense"): 2,
        ("malformed", b"\xff"): 1,
        ("foreign", texts[-1]): 1,
        ("late", report(4)): 1,
        ("duplicate", report(1)): 1,
        ("duplicate", other): 1,
    }
    assert sum(kept.values()) + store.people() == len(texts) + 1, "nothing is lost"
    whys = {each.why for each in store.set_aside() if each.reason == "duplicate"}
    assert whys == {
        "the same report was already received",
        "another report of the same person was received earlier; only the first one counts",
    }


def test_the_first_report_of_a_person_stays(store):
    store.take(report(1), OPEN)
    before = store.answers("yes") + store.answers("many")
    for no in range(9):
        store.take(report(1, many=no), OPEN)
    assert store.answers("yes") + store.answers("many") == before


def test_a_store_is_found_again_and_belongs_to_one_form(tmp_path):
    path = tmp_path / "folder" / "answers.sqlite"
    with Store(path, SURVEY) as made:
        made.take(report(1), OPEN)
    with Store(path, every_method(title='"Renamed"')) as found:
        assert found.people() == 1
    with pytest.raises(StoreUnusable, match="another form"):
        Store(path, every_method(epsilon="7"))
    with pytest.raises(StoreUnusable, match="another survey"):
        Store(path, every_method(id='"other"'))
    (tmp_path / "no.sqlite").write_text("this is no database, and long enough to be seen as none" * 20)
    with pytest.raises(StoreUnusable, match="cannot be used"):
        Store(tmp_path / "no.sqlite", SURVEY)
    with pytest.raises(StoreUnusable, match="cannot be used"):
        Store(tmp_path, SURVEY)


def test_the_file_is_its_owners_and_tells_no_order(store, tmp_path):
    path = tmp_path / "answers.sqlite"
    for number in (5, 3, 9, 1, 7, 2):
        store.take(report(number), OPEN)
    store.close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    database = sqlite3.connect(path)
    rows = database.execute("SELECT * FROM reports").fetchall()
    columns = [column[1] for column in database.execute("PRAGMA table_info(reports)")]
    with pytest.raises(sqlite3.OperationalError, match="no such column"):
        database.execute("SELECT rowid FROM reports")
    database.close()
    assert columns == ["person", "group", "answers"], "no time, no address, no device"
    assert [row[0] for row in rows] == sorted(row[0] for row in rows)


def test_the_bytes_of_a_closed_store_tell_no_order(tmp_path):
    """Rows of one page lie where there was room as they came; the order of twelve would survive by luck once in 10^8."""
    path, numbers = tmp_path / "answers.sqlite", range(12)
    with Store(path, SURVEY) as opened:
        for number in numbers:
            opened.take(report(number), OPEN)
        assert _as_they_lie(path.read_bytes(), numbers) == _as_they_came(numbers), "the open file does tell"
    found = _as_they_lie(path.read_bytes(), numbers)
    assert sorted(found) in (found, found[::-1])


def _as_they_came(numbers):
    return [json.loads(report(number))["person"] for number in numbers]


def _as_they_lie(raw, numbers):
    return sorted(_as_they_came(numbers), key=lambda person: -raw.find(person.encode()))


def test_a_database_of_something_else_is_left_alone(tmp_path):
    path = tmp_path / "precious.sqlite"
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE precious (x)")
    database.close()
    before = path.read_bytes()
    with pytest.raises(StoreUnusable, match="a database of another program"):
        Store(path, SURVEY)
    assert path.read_bytes() == before


def test_what_is_set_aside_is_bounded_and_sound_reports_still_count(tmp_path):
    with Store(tmp_path / "a.sqlite", SURVEY, most_aside=1000) as opened:
        kept = [opened.take(b"%d" % number * 80, OPEN).kept for number in (1, 2, 1, 1, 3, 4, 2)]
        assert kept == [True, True, True, True, False, False, True], "what is there already takes no room"
        assert isinstance(opened.take(report(1), OPEN), Report)
        assert opened.kept_aside() <= 1000
        assert opened.counts()["malformed"] == 5


def test_a_process_that_is_killed_loses_nothing_and_counts_nothing_twice(tmp_path):
    """Killed at some moment of a batch; what was told to be counted is there, and all of it can come again."""
    path = tmp_path / "answers.sqlite"
    (tmp_path / "reports.jsonl").write_bytes(b"\n".join(report(number) for number in range(3000)))
    script = (
        "import sys; sys.path.insert(0, sys.argv[1]); from pathlib import Path; from surveys import every_method\n"
        "from tacit.publish.local.survey.reports import Store\n"
        "with Store(Path('answers.sqlite'), every_method()) as store:\n"
        "    for _ in store.take_all(Path('reports.jsonl').read_bytes().splitlines()): print('told', flush=True)"
    )
    words = [sys.executable, "-c", script, str(Path(__file__).parents[3] / "support")]
    with subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE) as running:
        told = [running.stdout.readline() for _ in range(1001)]
        running.kill()
        told += running.stdout.readlines()
    with Store(path, SURVEY) as found:
        assert found.people() >= len(told) > 1000
        list(found.take_all((tmp_path / "reports.jsonl").read_bytes().splitlines(), OPEN))
        assert found.people() == 3000


def test_threads_count_a_person_once(store):
    texts = [report(number % 5) for number in range(40)]
    outcomes = []
    threads = [threading.Thread(target=lambda text=text: outcomes.append(store.take(text, OPEN))) for text in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(isinstance(each, Report) for each in outcomes) == store.people() == 5
    assert store.counts()["duplicate"] == 35


def test_a_store_that_cannot_be_written_says_so(store):
    store._database.execute("DROP TABLE reports")
    with pytest.raises(StoreUnusable, match="cannot be written"):
        store.take(report(1), OPEN)


def test_a_turn_that_cannot_be_ended_does_not_stop_the_next(store):
    """Somebody reads the file and does not let go: a report cannot be written down, and the next one can when they do."""
    store.take(report(1), OPEN)
    store._database.execute("PRAGMA busy_timeout = 0")
    reader = sqlite3.connect(store.path, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM reports").fetchone()
    with pytest.raises(StoreUnusable, match="locked"):
        store.take(report(2), OPEN)
    reader.close()
    assert isinstance(store.take(report(3), OPEN), Report)
    assert store.people() == 2


def test_answers_of_a_question_are_those_that_were_sent(store):
    texts = [report(number) for number in range(20)]
    assert not any(isinstance(each, SetAside) for each in store.take_all(texts, OPEN))
    sent = sorted(json.loads(text)["answers"]["many"] for text in texts)
    assert sorted(store.answers("many")) == sent
    assert store.answers("no such question") == []
