"""`tacit survey` on the command line: what it prints, what it writes, and what it says when something is wrong."""

import hashlib
import json
import re
import sqlite3
from pathlib import Path

import pytest

from chance import mean_limit
from pages import ROOT, tacit
from tacit.publish.local.survey.reading import read_survey
from tacit.publish.local.survey.reports import Form

EXAMPLE = str(ROOT / "examples" / "survey.toml")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def reports(count, path="reports.jsonl"):
    form = Form.of(read_survey(Path(EXAMPLE)))
    answers = {"home": 1, "way": 2, "minutes": 35, "missing": [0]}
    lines = [form.text_of(answers, number.to_bytes(32, "big"), number % 3) for number in range(count)]
    Path(path).write_text("\n".join(lines) + "\n")
    return lines


def told(*words):
    code, printed = tacit("survey", *words)
    assert code == 0, printed
    return printed


def failed(*words, code=2):
    found, printed = tacit("survey", *words)
    assert found == code, printed
    return printed


# --- init -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("title", ["How we get to work", 'a "quoted" \\ {title}', "???", "Wie wir zur Arbeit kommen " * 9])
def test_a_draft_is_a_survey_that_can_be_planned_and_handed_out(title):
    assert "next: tacit survey plan mine.toml" in told("init", "--out", "mine.toml", "--title", title)
    asked = read_survey("mine.toml")
    assert asked.title == title
    assert {each.kind for each in asked.questions} == {"yes/no", "choice", "number"}
    told("plan", "mine.toml", "--n", "2000")
    told("form", "mine.toml")
    assert "mine.toml already exists" in failed("init", "--out", "mine.toml")
    told("init", "--out", "mine.toml", "--force")
    assert read_survey("mine.toml").title == "Our survey"


# --- simulate ----------------------------------------------------------------------------------------------------------------


def test_simulate_prints_the_half_widths_of_the_lecture_and_the_right_estimate():
    found = json.loads(told("simulate", "--truth", "0.3", "--n", "20000", "--p", "0.25", "--runs", "2", "--json"))
    widths = {name: round(value, 4) for name, value in found["half_widths"].items()}
    assert widths["chebyshev as printed"] == 0.0316
    assert widths["chebyshev"] == 0.0274
    assert widths["hoeffding"] == 0.0192
    assert widths["normal"] == 0.012
    assert abs(found["estimate"][0] - 0.3) <= mean_limit(20_000, width=2), "a bit counts twice; lectures print 0.7"
    assert found["truth"] == [0.3]
    assert found["flip"] == "0.25"


def test_simulate_prints_the_same_for_people():
    printed = told("simulate", "--truth", "0.3", "--n", "20000", "--p", "0.25", "--runs", "2")
    for figure in ("0.0316", "0.0274", "0.0192", "0.0120"):
        assert figure in printed
    assert abs(float(re.search(r"estimate ([-\d.]+)", printed)[1]) - 0.3) < mean_limit(20_000, width=2)
    assert "0.7" not in printed
    assert "curator" not in printed


def test_simulate_shows_both_ends():
    """The first example of the lecture: p = 0 gives every bit away, p = 1/2 leaves the belief as it was."""
    few = ("simulate", "--truth", "0.3", "--n", "2000", "--epsilons", "1", "--runs", "2")
    open_end, closed = (json.loads(told(*few, "--p", p, "--json")) for p in ("0", "0.5"))
    assert (open_end["epsilon"], open_end["estimate"], open_end["truth"]) == ("infinite", [0.3], [0.3])
    assert open_end["belief_after_report"] == {"1": 1.0, "0": 0.0}
    assert (closed["epsilon"], closed["estimate"]) == ("0", None)
    assert closed["belief_after_report"] == {"1": 0.3, "0": 0.3}
    assert abs(closed["reported"] - 0.5) < mean_limit(2000)
    assert [row["epsilon"] for row in closed["errors"] if row["people"] == 2000] == ["1"]
    assert "no privacy: every report is the answer" in told(*few, "--p", "0")
    printed = told(*few, "--p", "1/2")
    assert "perfect privacy" in printed
    assert "no estimate is possible" in printed


def test_simulate_at_an_end_is_the_curators_too_of_a_column():
    Path("people.csv").write_text("sex\n" + "F\nM\nF\n" * 20)
    words = ("simulate", "--csv", "people.csv", "--column", "sex", "--p", "0", "--epsilons", "1", "--runs", "2")
    assert json.loads(told(*words, "--json"))["for_the_curator_only"] is True
    assert told(*words).startswith("For the data owner only")


def test_simulate_compares_several_epsilons_and_draws():
    found = json.loads(told("simulate", "--n", "3000", "--epsilons", "0.5,2", "--runs", "60", "--chart", "s.svg", "--json"))
    at_most = [row for row in found["errors"] if row["people"] == 3000]
    assert [row["epsilon"] for row in at_most] == ["0.5", "1", "2"]
    for row in at_most:  # the root of a mean of 60 squares: off by a factor of two once in 10^9
        assert row["theory"] / 2 < row["simulated"] < 2 * row["theory"]
    assert at_most[0]["theory"] > at_most[1]["theory"] > at_most[2]["theory"]
    assert "<svg" in Path("s.svg").read_text()


def test_simulate_of_several_options():
    found = json.loads(told("simulate", "--truth", "0.5,0.3,0.2", "--n", "2000", "--runs", "2", "--json"))
    assert found["truth"] == [0.5, 0.3, 0.2]
    assert len(found["estimate"]) == 3


def test_simulate_on_a_column_is_for_the_curator_and_says_so_first():
    Path("people.csv").write_text("sex,age\n" + "F,30\nM,50\nF,70\nM,20\n" * 50)
    assert told("simulate", "--csv", "people.csv", "--column", "sex", "--runs", "2").startswith("For the data owner only: ")
    assert told("simulate", "--csv", "people.csv", "--column", "age", "--bounds", "0,100", "--runs", "2").startswith(
        "For the data owner only: "
    )
    found = told(
        "simulate", "--csv", "people.csv", "--column", "age", "--bounds", "0,100", "--runs", "2", "--json", "--chart", "c.svg"
    )
    assert "For the data owner only" in Path("c.svg").read_text(), "the picture says so too"
    assert found.startswith('{\n  "for_the_curator_only": true')
    assert json.loads(found)["truth"] == [42.5]


@pytest.mark.parametrize(
    ("text", "words", "what"),
    [
        ("age\n" + "".join(f"{n}\n" for n in range(200)), [], "200 distinct values"),
        ("age\nold\n", ["--bounds", "0,9"], "not numbers"),
        ("age\n", [], "must have 1 to 10,000,000 rows"),
    ],
)
def test_what_is_wrong_with_a_column_is_for_the_curator_too(text, words, what):
    Path("people.csv").write_text(text)
    command = ["simulate", "--csv", "people.csv", "--column", "age", *words]
    printed = failed(*command)
    assert what in printed
    assert "For the data owner only: " in printed
    message = json.loads(failed(*command, "--json"))["error"]["message"]
    assert what in message
    assert "for the data owner only" in message


def test_a_row_that_stands_as_the_header_is_not_quoted_by_simulate():
    """The planted bug lists what the first line has, and that is somebody's answer."""
    Path("people.csv").write_text("alice,syphilis\nbob,flu\n")
    for words in ([], ["--column", "illness"], ["--column", "illness", "--json"]):
        printed = failed("simulate", "--csv", "people.csv", *words)
        assert ("its first line must name its columns" if words else "missing --column") in printed
        assert "alice" not in printed
        assert "syphilis" not in printed


def test_the_truth_of_a_simulation_is_that_of_its_people():
    """Of three people none or one has an answer, and no third of one."""
    found = json.loads(told("simulate", "--truth", "0.3", "--n", "3", "--runs", "2", "--json"))
    assert found["truth"] == [pytest.approx(1 / 3)]
    assert "true value 0.3333" in told("simulate", "--truth", "0.3", "--n", "3", "--runs", "2")


def test_simulate_says_of_which_value_each_share_is():
    Path("people.csv").write_text("town,sex\n" + "Aix,F\nBrno,M\nCork,F\n" * 50)
    printed = told("simulate", "--csv", "people.csv", "--column", "town", "--runs", "2")
    assert all(
        re.search(rf"^{town}: estimate [-\d.]+, true value 0.3333$", printed, re.MULTILINE) for town in ("Aix", "Brno", "Cork")
    )
    assert "a share of 'M', 150 people" in told("simulate", "--csv", "people.csv", "--column", "sex", "--runs", "2")
    assert "option 3: estimate " in told("simulate", "--truth", "0.5,0.3,0.2", "--n", "2000", "--runs", "2")


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["--truth", "1.5"], "one share from 0 to 1"),
        (["--truth", "0.5,0.2,0.2"], "sum to exactly 1"),
        (["--truth", "maybe"], "truth"),
        (["--p", "0.25", "--epsilon", "1"], "exclude each other"),
        (["--p", "0.25", "--truth", "0.5,0.3,0.2"], "use --epsilon"),
        (["--p", "0.6"], "at most 1/2"),
        (["--p", "0", "--epsilon", "1"], "exclude each other"),
        (["--p", "0", "--epsilons", ""], "--epsilons must not be empty"),
        (["--p", "1e-30"], "must be at most 30"),
        (["--epsilon", "700"], "must be at most 30"),
        (["--epsilons", "1,40"], "must be at most 30"),
        (["--csv", "nan.csv", "--column", "age", "--bounds", "0,9"], "not numbers"),
        (["--epsilon", "-1"], "epsilon"),
        (["--csv", "none.csv", "--column", "a"], "file not found: none.csv"),
        (["--csv", "people.csv", "--column", "size"], "missing column 'size' in people.csv; its first line must name its columns"),
        (["--csv", "people.csv", "--column", "age"], "--bounds LOW,HIGH"),
        (["--csv", "people.csv", "--column", "sex", "--bounds", "0,1"], "not numbers"),
        (["--csv", "people.csv", "--column", "age", "--bounds", "5"], "LOW,HIGH"),
        (["--csv", "people.csv"], "missing --column: give the column of people.csv"),
        (["--column", "age"], "require --csv"),
        (["--bounds", "0,9"], "require --csv"),
        (["--chart", "a.pdf"], ".svg, .png, .html"),
    ],
)
def test_simulate_says_what_to_do_instead(words, what):
    Path("nan.csv").write_text("age\n3\nnan\n")
    Path("people.csv").write_text("sex,age\n" + "".join(f"{'FM'[n % 2]},{n}\n" for n in range(200)))
    assert what in failed("simulate", "--n", "500", "--runs", "1", *words)


# --- form and plan -----------------------------------------------------------------------------------------------------------


def test_form_writes_one_page_and_explains_its_choices():
    printed = told("form", EXAMPLE, "--out", "form.html")
    size = Path("form.html").stat().st_size
    assert f"form.html: 4 questions, {size / 1000:.0f} kB, self-contained" in printed
    assert "epsilon 4 shared by all questions" in printed
    assert "without protection" in printed, "the group is sent as it is"
    assert "k-ary for 5 categories" in printed
    page = Path("form.html").read_text()
    assert page.startswith("<!doctype html>")
    assert "How we get to work" in page
    found = json.loads(told("form", EXAMPLE, "--json"))
    assert [each["method"] for each in found["questions"]] == ["binary", "k-ary", "one-bit", "set, k-ary"]
    assert found["fingerprint"] in page
    assert found["sha256"] == hashlib.sha256(Path("form.html").read_bytes()).hexdigest(), "the same page whoever builds it"
    assert f"SHA-256 {found['sha256']}" in printed
    assert "a part of its path is not a folder" in failed("form", EXAMPLE, "--out", "form.html/form.html")
    Path("survey.toml").write_text(Path(EXAMPLE).read_text())
    assert "is read here and would be lost" in failed("form", "survey.toml", "--out", "./survey.toml")
    assert Path("survey.toml").read_text() == Path(EXAMPLE).read_text()


def test_plan_writes_large_numbers_as_people_do():
    asked = Path(EXAMPLE).read_text().replace("bounds = [0, 120]\nstep = 5", "bounds = [0, 120000]\nstep = 1000")
    Path("income.toml").write_text(asked)
    assert asked != Path(EXAMPLE).read_text()
    assert re.search(r" ± \d{1,2},\d{3} minutes ", told("plan", "income.toml", "--n", "2000"))


def test_plan_says_what_to_expect_and_how_many_are_needed():
    found = json.loads(told("plan", EXAMPLE, "--n", "2000", "--error", "0.05", "--json"))
    home, _, minutes, _ = found["questions"]
    assert home["half_width"] == pytest.approx(0.0593, abs=0.0005)
    assert home["people_needed"] > 2000
    assert minutes["people_needed"] is None, "a share's half-width says nothing of a mean"
    again = json.loads(told("plan", EXAMPLE, "--n", str(home["people_needed"]), "--json"))
    assert again["questions"][0]["half_width"] <= 0.05
    assert "± 5.9" in told("plan", EXAMPLE, "--n", "2000")


def test_plan_counts_all_people_where_each_is_asked_one_question():
    Path("sample.toml").write_text(Path(EXAMPLE).read_text().replace('"split"', '"sample"'))
    needed = json.loads(told("plan", "sample.toml", "--error", "0.05", "--json"))["questions"][0]["people_needed"]
    again = json.loads(told("plan", "sample.toml", "--n", str(needed), "--json"))
    assert again["people_per_question"] == needed / 4
    assert 0.045 < again["questions"][0]["half_width"] <= 0.05


def test_a_declaration_that_is_wrong_is_told_with_its_lines():
    Path("survey.toml").write_text('id = "a"\ntitle = "t"\ncloses = 2030-01-01\nepsilon = 0\n')
    printed = failed("form", "survey.toml", code=4)
    assert "line 4: epsilon is 0" in printed
    found = json.loads(failed("form", "survey.toml", "--json", code=4))
    assert found["error"]["code"] == "survey"
    assert "not found: none.toml" in failed("form", "none.toml", code=4)


# --- collect and estimate ----------------------------------------------------------------------------------------------------


def test_reports_are_collected_from_lines_folders_and_codes():
    lines = reports(30)
    Path("inbox/deeper").mkdir(parents=True)
    for number, line in enumerate(lines[:10]):
        Path(f"inbox/deeper/{number}.json").write_text(line)
    Path("inbox/.hidden").write_text("nothing")
    Path("some.jsonl").write_bytes(b"\xef\xbb\xbf" + "\r\n\r\n".join(lines[10:20]).encode())
    assert "10 reports counted" in told("collect", EXAMPLE, "inbox")
    assert "20 reports counted" in told("collect", EXAMPLE, "some.jsonl")
    printed = told("collect", EXAMPLE, "reports.jsonl", "inbox")
    assert "30 reports counted; set aside: 30 duplicate" in printed
    assert "reports.jsonl, 20 lines from 1 to 20: the same report was already received" in printed


def test_what_is_set_aside_is_told_by_line_and_kept():
    lines = reports(3)
    nasty = [
        "",
        "[" * 3000,
        '{"tacit": "survey report 1", "survey": "other"}',
        "\ud800",
        "x" * 200_000,
        lines[0].replace('"home":', '"home":9,"home":'),
    ]
    Path("reports.jsonl").write_bytes("\n".join([*lines, *nasty]).encode("utf-8", "surrogatepass"))
    found = json.loads(told("collect", EXAMPLE, "reports.jsonl", "--json"))
    assert [(each["line"], each["reason"]) for each in found["set_aside_now"]] == [
        (5, "malformed"),
        (6, "foreign"),
        (7, "malformed"),
        (8, "malformed"),
        (9, "malformed"),
    ]
    assert found["counted"] == 3
    database = sqlite3.connect("answers.sqlite")
    kept = {bytes(text) for (text,) in database.execute("SELECT text FROM set_aside")}
    database.close()
    assert {b"[" * 3000, "\ud800".encode("utf-8", "surrogatepass")} <= kept


def test_a_wrong_file_is_told_in_a_line_and_many_reasons_are_cut_short():
    Path("letter.txt").write_text("Dear all,\n\nthe survey is open.\nYours\n")
    assert "set aside, malformed: letter.txt, 3 lines from 1 to 4: it is not JSON\n" in told("collect", EXAMPLE, "letter.txt")
    Path("mixed.txt").write_text("x\n[]\n" * 15)
    assert "... and 10 more; see the table set_aside in answers.sqlite" in told("collect", EXAMPLE, "mixed.txt")


def test_reports_come_from_standard_input_and_no_line_is_passed_over():
    from typer.testing import CliRunner

    from tacit.doors.cli import app

    text = "\n".join([*reports(2), " " * 70_000 + "x", ""])
    result = CliRunner().invoke(app, ["survey", "collect", EXAMPLE, "-", "--json"], input=text)
    found = json.loads(result.output)
    assert (found["counted"], found["malformed"]) == (2, 1)
    assert [(each["file"], each["line"]) for each in found["set_aside_now"]] == [("-", 3)]


def test_a_folder_with_the_store_in_it_is_collected_without_the_store():
    reports(3)
    for _ in range(2):
        found = json.loads(told("collect", EXAMPLE, ".", "--json"))
        assert (found["counted"], found["malformed"]) == (3, 0)


def test_reports_after_the_closing_day_are_late():
    reports(3)
    assert "3 late" in told("collect", EXAMPLE, "reports.jsonl", "--received", "2031-01-01")
    assert "3 reports counted" in told("collect", EXAMPLE, "reports.jsonl", "--received", "2030-06-30")


def test_a_form_that_takes_no_answers_any_more_is_told():
    Path("past.toml").write_text(re.sub(r"closes = .*", "closes = 2020-06-30", Path(EXAMPLE).read_text()))
    assert "The survey closed on 2020-06-30" in told("form", "past.toml")
    assert "closed" not in told("form", EXAMPLE)


def test_one_report_is_one_report():
    reports(1)
    assert "1 report counted" in told("collect", EXAMPLE, "reports.jsonl")


@pytest.mark.parametrize("error", ["5", "1", "0", "-0.1", "nan"])
def test_the_error_of_a_plan_is_a_part_of_one(error):
    assert "--error must be above 0 and below 1" in failed("plan", EXAMPLE, "--error", error)


@pytest.mark.parametrize(
    ("words", "what"),
    [
        ([], "no reports given"),
        (["none.jsonl"], "file not found: none.jsonl"),
        (["reports.jsonl", "./reports.jsonl", "--store", "reports.jsonl"], "reports.jsonl is the store itself"),
        (["--listen", "8765"], "--listen must be HOST:PORT"),
        (["--listen", "127.0.0.1:99999"], "--listen must be HOST:PORT"),
        (["--listen", "256.256.256.256:80"], "cannot listen on"),
        (["reports.jsonl", "--received", "yesterday"], "--received must be a day"),
    ],
)
def test_collect_says_what_to_do_instead(words, what):
    reports(1)
    assert what in failed("collect", EXAMPLE, *words)


def test_a_store_of_another_form_is_refused():
    reports(1)
    told("collect", EXAMPLE, "reports.jsonl")
    Path("other.toml").write_text(Path(EXAMPLE).read_text().replace("epsilon = 4", "epsilon = 5"))
    assert "another form" in failed("collect", "other.toml", "reports.jsonl", code=4)
    assert "another form" in failed("estimate", "other.toml", code=4)


def test_estimates_are_printed_drawn_and_written():
    reports(300)
    told("collect", EXAMPLE, "reports.jsonl")
    printed = told("estimate", EXAMPLE, "--csv", "e.csv", "--chart", "e.html")
    assert "300 reports counted" in printed
    assert printed.rstrip().endswith("Written: e.csv and e.html")
    assert "By bus or train" in printed
    assert "●" in printed
    assert Path("e.csv").read_text().startswith("question,")
    assert "<script src=" not in Path("e.html").read_text(), "a page that loads nothing"
    compared = told("estimate", EXAMPLE, "--compare", "South,North", "--csv", "c.csv", "--chart", "c.svg").partition(
        "South minus North"
    )[2]
    assert "South,100,Yes," in Path("c.csv").read_text()
    assert ",North,100," in Path("c.csv").read_text(), "what is printed is written, differences too"
    assert "South minus North" in Path("c.svg").read_text()
    assert re.search(r"By bus or train +[-+]\d+\.\d points +[-+]\d+\.\d to [-+]\d+\.\d", compared), "in percent, as the shares are"
    assert re.search(r"mean, minutes +[-+][\d.]+ +[-+][\d.]+ to [-+][\d.]+", compared)
    assert "100 and 100 reports; 95 % each" in compared
    assert told("estimate", EXAMPLE, "--by-group").count("Harbour") == 4


def test_groups_without_reports_are_not_passed_over():
    reports(1)
    told("collect", EXAMPLE, "reports.jsonl")
    assert "4 questions are not compared" in told("estimate", EXAMPLE, "--compare", "North,South")


def shares_alone():
    """The example without its question of a number, as a file."""
    text = Path(EXAMPLE).read_text()
    number = re.search(r"\[questions.minutes\].*?(?=\n\[)", text, re.DOTALL)[0]
    Path("shares.toml").write_text(text.replace(number, ""))
    form = Form.of(read_survey(Path("shares.toml")))
    answers = {"home": 1, "way": 2, "missing": [0]}
    Path("r.jsonl").write_text("".join(form.text_of(answers, n.to_bytes(32, "big"), n % 3) + "\n" for n in range(60)))
    told("collect", "shares.toml", "r.jsonl", "--store", "shares.sqlite")
    return ["shares.toml", "--store", "shares.sqlite"]


def test_every_bound_that_results_name_can_be_asked_for():
    from tacit.publish.local.estimates.intervals import BOUNDS

    survey = shares_alone()
    for bound in BOUNDS:
        found = json.loads(told("estimate", *survey, "--json", "--bound", bound.replace(" ", "-")))["results"]
        assert all(f", {bound}" in each["terms"] for each in found)


@pytest.mark.parametrize("bound", ["chernoff", "chebyshev-as-printed"])
def test_a_bound_of_shares_is_refused_for_numbers_and_differences_with_the_reason(bound):
    reports(30)
    told("collect", EXAMPLE, "reports.jsonl")
    assert "supports only shares, but minutes is a number; use one of best, " in failed("estimate", EXAMPLE, "--bound", bound)
    printed = failed("estimate", *shares_alone(), "--compare", "North,South", "--bound", bound)
    assert "supports only shares, but --compare estimates a difference; use one of best, " in printed
    for other in ("bernstein", "hoeffding"):
        told("estimate", EXAMPLE, "--compare", "North,South", "--bound", other)


def test_estimates_follow_bound_confidence_and_simultaneous():
    reports(300)
    told("collect", EXAMPLE, "reports.jsonl")

    def width(*words):
        found = json.loads(told("estimate", EXAMPLE, "--json", *words))["results"][1]
        return found["margin"], found["terms"]

    plain, terms = width()
    assert terms.startswith("95 % each")
    assert width("--simultaneous")[0] > plain
    assert width("--confidence", "0.99")[0] > plain > width("--confidence", "0.8")[0]
    assert width("--bound", "chebyshev")[0] > plain > width("--bound", "normal")[0]
    assert "population" in width("--population")[1]
    rows = json.loads(told("estimate", EXAMPLE, "--json"))["results"][1]["rows"]
    assert sum(row["consistent"] for row in rows) == pytest.approx(1)
    assert all(row["consistent"] >= 0 for row in rows)
    shown = re.findall(r"By \w+[^%]*?(-?[\d.]+) %", told("estimate", EXAMPLE, "--consistent"))
    assert shown
    assert all(float(share) >= 0 for share in shown)


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (["--store", "none.sqlite"], "store not found: none.sqlite"),
        (["--store", "empty.sqlite"], "contains no counted reports"),
        (["--compare", "North"], "two groups separated by a comma"),
        (["--compare", "North,East"], "unknown group 'East'; the declared groups are North, South, Harbour"),
        (["--confidence", "1"], "confidence must be above 0 and below 1"),
        (["--csv", "answers.sqlite/e.csv"], "cannot be written"),
        (["--chart", "e.pdf"], ".svg, .png, .html"),
        (["--csv", "answers.sqlite"], "answers.sqlite is read here and would be lost"),
        (["--csv", EXAMPLE], "is read here and would be lost"),
        (["--csv", "both.svg", "--chart", "./both.svg"], "--csv and --chart name the same file, both.svg"),
    ],
)
def test_estimate_says_what_to_do_instead(words, what):
    reports(2)
    told("collect", EXAMPLE, "reports.jsonl")
    Path("blank.jsonl").write_text("\n")
    told("collect", EXAMPLE, "blank.jsonl", "--store", "empty.sqlite")
    assert what in failed("estimate", EXAMPLE, *words)


def test_every_command_has_help():
    code, printed = tacit("survey", "--help")
    assert code == 0
    for name in ("form", "plan", "collect", "estimate", "simulate"):
        assert name in printed
        assert tacit("survey", name, "--help")[0] == 0
