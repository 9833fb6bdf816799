"""The tables of a store, in the types of each database."""

from __future__ import annotations

VERSION = 1

LOG = 1 << 32
"""The size of a log's range of places: the place of an entry is its session's key times this, plus its number."""

RARE = "kind NOT IN ('message', 'prompt', 'usage')"
"""The kinds of entries that have an index by kind: all but the most frequent ones."""

_TABLES = (
    "CREATE TABLE brim_store (version {whole} NOT NULL)",
    f"INSERT INTO brim_store (version) VALUES ({VERSION})",
    "CREATE TABLE brim_sessions (key {serial} PRIMARY KEY, id {name} NOT NULL UNIQUE, created {real} NOT NULL, "
    "updated {real} NOT NULL, last {whole} NOT NULL, meta {body} NOT NULL)",
    "CREATE INDEX brim_sessions_updated ON brim_sessions (updated, id)",
    "CREATE TABLE brim_entries (place {whole} PRIMARY KEY, kind {name} NOT NULL, at {real} NOT NULL, "
    "body {body} NOT NULL)",
    f"CREATE INDEX brim_entries_kind ON brim_entries (kind, place) WHERE {RARE}",
    "CREATE TABLE brim_documents (kind {name} NOT NULL, id {name} NOT NULL, version {whole} NOT NULL, "
    "at {real} NOT NULL, body {body} NOT NULL, PRIMARY KEY (kind, id))",
    # For people: the log of each session by its name.
    f"CREATE VIEW brim_log AS SELECT s.id AS session, e.place - s.key * {LOG} AS number, e.kind AS kind, "
    "{moment} AS at, {shown} AS body "
    f"FROM brim_entries e JOIN brim_sessions s ON s.key = e.place / {LOG}",
)
_OWN = {
    "sqlite": (
        # Only which entries have a word or a handle, without a second copy of the text: brim ranks them itself.
        "CREATE VIRTUAL TABLE brim_words USING fts5 (words, content = '', detail = none, columnsize = 0, "
        """tokenize = "unicode61 remove_diacritics 0 categories 'L* N* P* S* M* Co'")""",
    ),
    "postgres": (
        "ALTER TABLE brim_entries ADD COLUMN words tsvector",
        "CREATE INDEX brim_entries_words ON brim_entries USING gin (words)",
    ),
}
_TYPES = {
    "sqlite": {
        "name": "TEXT",
        "whole": "INTEGER",
        "real": "REAL",
        "body": "TEXT",
        "serial": "INTEGER",
        "moment": "datetime(e.at, 'unixepoch')",
        "shown": "e.body",
    },
    "postgres": {
        "name": 'TEXT COLLATE "C"',
        "whole": "BIGINT",
        "real": "DOUBLE PRECISION",
        "body": "BYTEA",  # A text of PostgreSQL cannot hold half of a surrogate pair.
        "serial": "BIGINT GENERATED ALWAYS AS IDENTITY",
        "moment": "to_timestamp(e.at)",
        "shown": "convert_from(e.body, 'UTF8')",
    },
}
"""The types of each database; names are compared byte by byte in both."""


def statements(database: str) -> list[str]:
    """Return the statements that make the tables of a new store."""
    return [*(statement.format(**_TYPES[database]) for statement in _TABLES), *_OWN[database]]
