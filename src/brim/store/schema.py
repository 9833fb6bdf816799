"""The tables of a store, version by version.

Each version is a list of statements that turn the one before it into itself. The words in braces are the types of a
database; statements of one database are separate. A version that was released is never changed: a store that was
written by it must still open, and `tests/store/golden` has one of each.
"""

from __future__ import annotations

from typing import NamedTuple


class Version(NamedTuple):
    """The statements that lead to one version."""

    common: tuple[str, ...]
    sqlite: tuple[str, ...] = ()
    postgres: tuple[str, ...] = ()


_FIRST = Version(
    common=(
        "CREATE TABLE brim_store (version {whole} NOT NULL)",
        "INSERT INTO brim_store (version) VALUES (0)",
        "CREATE TABLE brim_sessions (id {name} PRIMARY KEY, created {real} NOT NULL, updated {real} NOT NULL, "
        "last {whole} NOT NULL, meta {bytes} NOT NULL)",
        "CREATE INDEX brim_sessions_updated ON brim_sessions (updated, id)",
        "CREATE TABLE brim_entries (session {name} NOT NULL, number {whole} NOT NULL, kind {name} NOT NULL, "
        "at {real} NOT NULL, body {bytes} NOT NULL, PRIMARY KEY (session, number))",
        "CREATE INDEX brim_entries_kind ON brim_entries (session, kind, number)",
        "CREATE TABLE brim_texts (id {serial} PRIMARY KEY, handle {name} NOT NULL UNIQUE, body {bytes} NOT NULL)",
        "CREATE TABLE brim_kept (session {name} NOT NULL, handle {name} NOT NULL, at {real} NOT NULL, "
        "PRIMARY KEY (session, handle))",
        "CREATE INDEX brim_kept_handle ON brim_kept (handle, at)",
        "CREATE TABLE brim_documents (kind {name} NOT NULL, id {name} NOT NULL, version {whole} NOT NULL, "
        "at {real} NOT NULL, body {bytes} NOT NULL, PRIMARY KEY (kind, id))",
        "CREATE TABLE brim_jobs (number {serial} PRIMARY KEY, queue {name} NOT NULL, id {name} NOT NULL, "
        "body {bytes} NOT NULL, added {real} NOT NULL, worker {name}, attempt {whole} NOT NULL, until {real}, "
        "done {real}, result {bytes}, UNIQUE (queue, id))",
        "CREATE INDEX brim_jobs_open ON brim_jobs (queue, number) WHERE done IS NULL",
    ),
    sqlite=(
        "CREATE VIRTUAL TABLE brim_words USING fts5 (words, "
        """tokenize = "unicode61 remove_diacritics 0 categories 'L* N* P* S* M* Co'")""",
    ),
    postgres=(
        "ALTER TABLE brim_texts ADD COLUMN words tsvector",
        "CREATE INDEX brim_texts_words ON brim_texts USING gin (words)",
    ),
)

_SMALL = Version(
    common=(),
    sqlite=(
        # Words without a second copy of each text. To take words out they must be found again, so a checksum is kept.
        "ALTER TABLE brim_texts ADD COLUMN words INTEGER",
        "CREATE VIRTUAL TABLE brim_new USING fts5 (words, content = '', "
        """tokenize = "unicode61 remove_diacritics 0 categories 'L* N* P* S* M* Co'")""",
        "INSERT INTO brim_new (rowid, words) SELECT rowid, words FROM brim_words",
        "DROP TABLE brim_words",
        "ALTER TABLE brim_new RENAME TO brim_words",
        # The key of a row is not written twice.
        "CREATE TABLE brim_new (session TEXT NOT NULL, handle TEXT NOT NULL, at REAL NOT NULL, "
        "PRIMARY KEY (session, handle)) WITHOUT ROWID",
        "INSERT INTO brim_new SELECT session, handle, at FROM brim_kept",
        "DROP TABLE brim_kept",
        "ALTER TABLE brim_new RENAME TO brim_kept",
        "CREATE INDEX brim_kept_handle ON brim_kept (handle, at)",
    ),
)
"""Bodies may be packed from here on."""

_NUMBERED = Version(
    common=(
        # A session is a number in other tables, and the place of an entry is that number and its own.
        "CREATE TABLE brim_new_sessions (key {serial} PRIMARY KEY, id {name} NOT NULL UNIQUE, created {real} NOT NULL, "
        "updated {real} NOT NULL, last {whole} NOT NULL, noted {whole} NOT NULL, meta {bytes} NOT NULL)",
        "INSERT INTO brim_new_sessions (id, created, updated, last, noted, meta) "
        "SELECT id, created, updated, last, 0, meta FROM brim_sessions ORDER BY created, id",
        "DROP TABLE brim_sessions",
        "ALTER TABLE brim_new_sessions RENAME TO brim_sessions",
        "CREATE INDEX brim_sessions_updated ON brim_sessions (updated, id)",
        "CREATE TABLE brim_new_entries (place {whole} PRIMARY KEY, kind {name} NOT NULL, at {real} NOT NULL, "
        "body {bytes} NOT NULL)",
        "INSERT INTO brim_new_entries SELECT s.key * 4294967296 + e.number, e.kind, e.at, e.body "
        "FROM brim_entries e JOIN brim_sessions s ON s.id = e.session ORDER BY 1",
        "DROP TABLE brim_entries",
        "ALTER TABLE brim_new_entries RENAME TO brim_entries",
        "CREATE INDEX brim_entries_kind ON brim_entries (kind, place) "
        "WHERE kind NOT IN ('ahead', 'message', 'meta', 'prompt', 'usage')",
        "CREATE TABLE brim_new_kept (session {whole} NOT NULL, text {whole} NOT NULL, at {real} NOT NULL, "
        "PRIMARY KEY (session, text)){clustered}",
        "INSERT INTO brim_new_kept SELECT s.key, t.id, k.at FROM brim_kept k JOIN brim_sessions s ON s.id = k.session "
        "JOIN brim_texts t ON t.handle = k.handle",
        "DROP TABLE brim_kept",
        "ALTER TABLE brim_new_kept RENAME TO brim_kept",
        "CREATE INDEX brim_kept_text ON brim_kept (text)",
    ),
    sqlite=(
        "CREATE TABLE brim_new_texts (id INTEGER PRIMARY KEY, handle BLOB NOT NULL UNIQUE, body BLOB NOT NULL, "
        "words INTEGER)",
        "INSERT INTO brim_new_texts SELECT id, brim_handle(handle), body, NULL FROM brim_texts",
        "DROP TABLE brim_texts",
        "ALTER TABLE brim_new_texts RENAME TO brim_texts",
        # Only which texts have a word: brim ranks them itself.
        "DROP TABLE brim_words",
        "CREATE VIRTUAL TABLE brim_words USING fts5 (words, content = '', detail = none, columnsize = 0, "
        """tokenize = "unicode61 remove_diacritics 0 categories 'L* N* P* S* M* Co'")""",
        "INSERT INTO brim_words (rowid, words) SELECT id, brim_terms(id, body) FROM brim_texts",
        "UPDATE brim_texts SET words = brim_checksum(id)",
    ),
    postgres=(
        "ALTER TABLE brim_texts ALTER COLUMN handle TYPE BYTEA USING CASE WHEN handle ~ '^b2:[0-9a-f]{32}$' "
        r"THEN '\xff'::bytea || decode(substr(handle, 4), 'hex') ELSE convert_to(handle, 'UTF8') END",
    ),
)
"""No name of a session and no handle is written more than once. Texts may be packed with the entries they repeat."""

_REPEATED = Version(
    common=(
        # Texts that the log of their session has: the place of the last entry, and what each is made of.
        "CREATE TABLE brim_repeats (place {whole} PRIMARY KEY, texts {bytes} NOT NULL)",
        "DROP INDEX brim_entries_kind",
        "CREATE INDEX brim_entries_kind ON brim_entries (kind, place) "
        "WHERE kind NOT IN ('message', 'meta', 'prompt', 'usage')",
    ),
    sqlite=("ALTER TABLE brim_repeats ADD COLUMN words INTEGER",),
    postgres=(
        "ALTER TABLE brim_repeats ADD COLUMN words tsvector",
        "CREATE INDEX brim_repeats_words ON brim_repeats USING gin (words)",
    ),
)
"""A text that repeats the log is not written, and has no row for who keeps it."""

VERSIONS: tuple[Version, ...] = (_FIRST, _SMALL, _NUMBERED, _REPEATED)
"""All versions, the first one first; the last one is what this brim writes."""

TYPES = {
    "sqlite": {
        "name": "TEXT",
        "whole": "INTEGER",
        "real": "REAL",
        "bytes": "BLOB",
        "serial": "INTEGER",
        "clustered": " WITHOUT ROWID",
    },
    "postgres": {
        "name": 'TEXT COLLATE "C"',
        "whole": "BIGINT",
        "real": "DOUBLE PRECISION",
        "bytes": "BYTEA",
        "serial": "BIGINT GENERATED ALWAYS AS IDENTITY",
        "clustered": "",
    },
}
"""The types of each database; names are compared byte by byte in both."""


def statements(version: int, database: str, versions: tuple[Version, ...] = VERSIONS) -> list[str]:
    """Return the statements that lead from the version before to this one."""
    wanted = versions[version - 1]
    common = [statement.format(**TYPES[database]) for statement in wanted.common]
    own = wanted.sqlite if database == "sqlite" else wanted.postgres
    return [*common, *own, f"UPDATE brim_store SET version = {version}"]
