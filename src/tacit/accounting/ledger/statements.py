"""The tables of a ledger, and the statements that read and write them: the same words for SQLite and for PostgreSQL.

tacit_books      one row: which ledger it is, its format, and its last entry
tacit_entries    every entry: its canonical text and the hash of it
tacit_accounts   the sums and failures of each analyst; every entry holds a digest of them all
tacit_units      declarations of units, by their fingerprints
tacit_kept       questions that are being answered, and answers that were released, by question
tacit_askers     who has paid for which of them

`:name` is a value that is given by its name. Nothing is ever put into the words of a statement.
"""

from __future__ import annotations

BOOKS = "tacit_books"
WHOLE = {"sqlite": "INTEGER", "postgresql": "BIGINT"}  # the type of 64-bit integers
OPEN_INDEX = """CREATE INDEX IF NOT EXISTS tacit_open ON tacit_kept (until) WHERE answer IS NULL AND until > 0"""
TABLES = (
    """CREATE TABLE IF NOT EXISTS tacit_books (
        place INTEGER NOT NULL CHECK (place = 1), identity TEXT NOT NULL, format INTEGER NOT NULL, number {whole} NOT NULL,
        hash TEXT NOT NULL, PRIMARY KEY (place))""",
    """CREATE TABLE IF NOT EXISTS tacit_accounts (
        analyst TEXT NOT NULL, spent TEXT NOT NULL, failures INTEGER NOT NULL, PRIMARY KEY (analyst))""",
    """CREATE TABLE IF NOT EXISTS tacit_entries (
        number {whole} NOT NULL, hash TEXT NOT NULL, text TEXT NOT NULL, PRIMARY KEY (number))""",
    """CREATE TABLE IF NOT EXISTS tacit_units (fingerprint TEXT NOT NULL, text TEXT NOT NULL, PRIMARY KEY (fingerprint))""",
    """CREATE TABLE IF NOT EXISTS tacit_kept (
        "key" TEXT NOT NULL, entry {whole} NOT NULL, until FLOAT NOT NULL, answer {whole}, text TEXT, PRIMARY KEY ("key"),
        FOREIGN KEY (entry) REFERENCES tacit_entries (number), FOREIGN KEY (answer) REFERENCES tacit_entries (number))""",
    """CREATE TABLE IF NOT EXISTS tacit_askers (
        "key" TEXT NOT NULL, analyst TEXT NOT NULL, entry {whole} NOT NULL, PRIMARY KEY ("key", analyst),
        FOREIGN KEY (entry) REFERENCES tacit_entries (number))""",
    OPEN_INDEX,
)
HAS_OPEN_INDEX = {
    "sqlite": "SELECT 1 FROM sqlite_master WHERE type = 'index' AND name = 'tacit_open'",
    "postgresql": "SELECT 1 WHERE to_regclass('tacit_open') IS NOT NULL",
}

HAS_BOOKS = "SELECT place FROM tacit_books"
READ_BOOKS = """SELECT tacit_books.identity, format, tacit_books.number, tacit_books.hash, tacit_entries.hash, text
    FROM tacit_books LEFT OUTER JOIN tacit_entries ON tacit_entries.number = tacit_books.number"""
READ_ACCOUNTS = "SELECT analyst, spent, failures FROM tacit_accounts"
READ_KEPT = """SELECT "key", entry, until, answer, text FROM tacit_kept WHERE "key" = :wanted"""
READ_LOST = """SELECT "key", entry, until, answer, text FROM tacit_kept
    WHERE answer IS NULL AND until > 0 AND until <= :now ORDER BY until LIMIT :most"""
READ_ASKER = """SELECT entry FROM tacit_askers WHERE "key" = :wanted AND analyst = :who"""
READ_UNITS = "SELECT text FROM tacit_units WHERE fingerprint = :wanted"
LINES = "SELECT number, hash, text FROM tacit_entries WHERE number > :after ORDER BY number LIMIT :most"
ANSWERS = """SELECT "key", entry, until, answer, text FROM tacit_kept
    WHERE "key" > :after AND answer IS NOT NULL ORDER BY "key" LIMIT :most"""
ASKERS = """SELECT "key", analyst, entry FROM tacit_askers
    WHERE ("key", analyst) > (:after, :who) ORDER BY "key", analyst LIMIT :most"""

BEGIN_BOOKS = "INSERT INTO tacit_books (place, identity, format, number, hash) VALUES (1, :identity, :format, :number, :hash)"
APPEND = "INSERT INTO tacit_entries (number, hash, text) VALUES (:number, :hash, :text)"
MOVE = "UPDATE tacit_books SET number = :last, hash = :last_hash"
PUT_ACCOUNT = """INSERT INTO tacit_accounts (analyst, spent, failures) VALUES (:analyst, :spent, :failures)
    ON CONFLICT (analyst) DO UPDATE SET spent = excluded.spent, failures = excluded.failures"""
PUT_KEPT = """INSERT INTO tacit_kept ("key", entry, until, answer, text) VALUES (:key, :entry, :until, :answer, :text)
    ON CONFLICT ("key") DO UPDATE
    SET entry = excluded.entry, until = excluded.until, answer = excluded.answer, text = excluded.text"""
PUT_ASKER = """INSERT INTO tacit_askers ("key", analyst, entry) VALUES (:key, :analyst, :entry)
    ON CONFLICT ("key", analyst) DO UPDATE SET entry = excluded.entry"""
PUT_UNITS = """INSERT INTO tacit_units (fingerprint, text) VALUES (:fingerprint, :text)
    ON CONFLICT (fingerprint) DO UPDATE SET text = excluded.text"""
