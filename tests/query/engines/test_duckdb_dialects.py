"""Ibis imports the dialect of its engine alone, and others when they are used. In fresh processes: an import is for good."""

from __future__ import annotations

import subprocess
import sys

FIRST = "from tacit.query.engines.duckdb import PACKAGE, duckdb_backend; backend = duckdb_backend()\n"


def printed(script: str) -> list[str]:
    told = f"import sys\n{FIRST}{script}"
    return subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True).stdout.split()


def test_one_dialect_is_imported_and_others_on_demand() -> None:
    loaded = "sorted(name.removeprefix(PACKAGE + '.') for name in sys.modules if name.startswith(PACKAGE + '.'))"
    later = "import ibis.backends.sql.compilers as dialects\nprint(dialects.sqlite.compiler.dialect.__name__)\n"
    later += "print(dialects.MySQLCompiler.__name__, hasattr(dialects, 'none_such'))"
    assert printed(f"print(*{loaded})\n{later}") == ["_compat", "base", "duckdb", "SQLite", "MySQLCompiler", "False"]


def test_the_sql_is_what_ibis_writes_with_all_dialects() -> None:
    compiled = "import ibis\nt = ibis.table({'a': 'int64', 'b': 'string'}, name='t')\n"
    compiled += "asked = t.filter(t.b.like('x%')).group_by('b').aggregate(n=t.a.sum(), m=(t.a // 3).max())\n"
    compiled += "print(ibis.to_sql(asked, dialect='duckdb'))"
    whole = subprocess.run([sys.executable, "-c", compiled], capture_output=True, text=True, check=True).stdout.split()
    assert printed(compiled) == whole
