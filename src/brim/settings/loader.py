"""Loads a `Config` from files, the environment and flags."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from brim.errors import InvalidValue, SourceError, UnknownName, nearest, shown
from brim.files.source import Keys, Source, parse, place
from brim.files.source import load as load_yaml
from brim.settings import project
from brim.settings.authors import EXTENDS, extending
from brim.settings.config import Config
from brim.settings.flow import Flow, Profile, read_flow, read_profile, shipped_profile
from brim.settings.keys import BARE, SETTINGS, TOP_KEYS, TREE, Setting, name_of, setting_of
from brim.settings.reader import TYPO, Reader, with_preset
from brim.settings.trust import VARIABLE, is_trusted
from brim.settings.values import Value, Values

_VALUES = "settings"
"""The name in errors of settings that were passed as a mapping."""
_RUNTIME = {**TREE["budgets"], "curator_enabled": TREE["curator_enabled"]}
"""The keys of `defaults` and `budget_overrides` in a file of runtime defaults."""
PREFIX = "BRIM_"
SWARM = "SWARM_"
"""The prefix of Flow Studio's variables; its budgets are accepted."""
_SECRETS = ("KEY", "TOKEN", "SECRET", "PASSWORD")
"""Name endings of variables that contain secrets; settings only refer to such variables by name."""


def load(
    path: str | Mapping[str, Any] | None,
    environ: Mapping[str, str],
    flags: Mapping[str, Any],
    replaced: Mapping[str, str] | None = None,
) -> Config:
    """Return the settings of a project; see `brim.load_config`.

    Args:
        path: a file, a directory, a mapping of values, or `None` to search upward from the current directory.
        environ: the environment.
        flags: settings by key that override all others.
        replaced: texts to use instead of files, by path, to try a change before making it.

    Raises:
        SourceError: a file cannot be read, or is invalid.
        InvalidValue: a flag is invalid.
    """
    files = _Files(replaced, environ)
    if isinstance(path, Mapping):
        found, source = project.ProjectFiles("", ""), _source(path)
        files.trusted.add(_VALUES)
    else:
        found = project.find(path)
        files.trusted.add(path if path is not None and found.path == path else "")
        source = files.read(found.path) if found.path else None
    files.root = found.root
    if source is not None and (name := _flow_name(source)) is not None:
        files.add_alone(source, "flow", name)
        files.entry = name
        found = project.around_flow(found.path)
        files.root = found.root
        source = files.read(found.path) if found.path else None
    own = {} if source is None else files.add(source, "project")
    if found.root:
        files.add_all(found.root)
    user = project.user_file(environ)
    if user and found.path and os.path.realpath(user) == os.path.realpath(found.path):
        user = None
    files.trusted.add(user or "")
    users = files.add(files.read(user), "user") if user else {}
    runtime = files.add_runtime(found.root) if found.root else {}
    variables, unknown = _from_environ(environ)
    config = Config(
        files=tuple(files.paths),
        path=found.path,
        root=found.root,
        _outside=tuple(values for values in (_from_flags(flags), variables) if values),
        _written=(own, users, runtime),
        _inherited=files.inherited,
        _flows=files.flows,
        _profiles=files.profiles,
        ignored=(*unknown, *files.warnings),
        entry=files.entry,
    )
    config.check()
    return config


def _source(values: Mapping[str, Any]) -> Source | None:
    """Return settings that were passed as a mapping.

    Raises:
        SourceError: they are not JSON values.
    """
    try:
        return parse(json.dumps(values), _VALUES)
    except (TypeError, ValueError, RecursionError) as error:
        raise SourceError(_VALUES, f"not JSON values: {error}") from error


def check_text(path: str, text: str, kind: str) -> None:
    """Check the text of a file of settings, a flow or a profile.

    Raises:
        SourceError: it is invalid; the message lists every problem with its line.
    """
    files = _Files()
    source = parse(text, path)
    if kind == "top":
        files.add(source, "project")
    else:
        files.add_alone(source, kind, project.name_in(path))


def _flow_name(source: Source) -> str | None:
    """Return the name of the flow in a file with steps at its top or in the directory of flows; otherwise `None`."""
    values = source.values if isinstance(source.values, dict) else {}
    in_folder = project.kind_of(source.path) == "flow"
    if "flows" in values or not ("steps" in values or in_folder):
        return None
    name = values.get("flow")
    return name if isinstance(name, str) and name and not in_folder else project.name_in(source.path)


class _Files:
    """The files that were read, their flows and their profiles."""

    def __init__(self, replaced: Mapping[str, str] | None = None, environ: Mapping[str, str] | None = None) -> None:
        self._replaced = replaced or {}
        self._environ = os.environ if environ is None else environ
        self.root = ""
        """The directory of the project."""
        self.trusted: set[str] = set()
        """The file that the user named, and the user's own."""
        self.paths: list[str] = []
        self.warnings: list[str] = []
        self.flows: dict[str, Flow] = {}
        self.profiles: dict[str, Profile] = {}
        self.inherited: Values = {}
        """The settings of the shipped profile whose words a file uses."""
        self.entry: str | None = None
        """The flow of the loaded file; it replaces a flow of the project with the same name."""

    def read(self, path: str) -> Source:
        """Return the content of a file, or of the text that replaces it."""
        if path in self._replaced:
            return parse(self._replaced[path], path)
        if path not in self.trusted and Path(path).is_fifo():
            raise SourceError(path, "not a regular file")  # A pipe in a cloned project would be waited for.
        return load_yaml(path)

    def add(self, source: Source, layer: str) -> dict[str, Value]:
        """Read a file of settings with its profiles and flows, and return its settings."""
        reader = self._reader(source)
        values = reader.mapping(source.values)
        own = reader.settings(values, layer, TOP_KEYS)
        if group := extending(values):
            self.inherited = shipped_profile(EXTENDS[group]).settings
        for group in ("profiles", "flows"):
            for name, value in reader.mapping(values.get(group), group).items():
                self._add_one(reader, group[:-1], name, value, (group, name), user=layer == "user")
        reader.finish()
        return own

    def add_all(self, root: str) -> None:
        """Read the separate files of a project's flows and profiles."""
        first = [os.path.realpath(path) for path in self.paths[:1]]
        for name, path in project.files_in(root, "profile"):
            self.add_alone(self.read(path), "profile", name)
        for name, path in project.files_in(root, "flow"):
            if os.path.realpath(path) not in first:  # The loaded flow is read already.
                self.add_alone(self.read(path), "flow", name)

    def add_alone(self, source: Source, kind: str, name: str) -> None:
        """Read the separate file of a flow or profile."""
        reader = self._reader(source)
        self._add_one(reader, kind, name, source.values, ())
        reader.finish()

    def add_runtime(self, root: str) -> dict[str, Value]:
        """Return the budgets in a project's `swarm/config/runtime.yaml`; its other keys are ignored.

        `budget_overrides` there override `defaults`.
        """
        path = project.runtime_file(root)
        if path is None:
            return {}
        reader = self._reader(self.read(path))
        values = reader.mapping(reader.source.values)
        own: dict[str, Value] = {}
        for group in ("defaults", "budget_overrides"):
            own |= reader.settings(reader.mapping(values.get(group), group), "project", {}, group, tree=_RUNTIME)
        reader.finish()
        return own

    def _reader(self, source: Source) -> Reader:
        self.paths.append(source.path)
        trusted = source.path in self.trusted or is_trusted(source.path, self._environ)
        return Reader(source, warnings=self.warnings, untrusted=None if trusted else self.root)

    def _add_one(self, reader: Reader, kind: str, name: str, value: Any, keys: Keys, *, user: bool = False) -> None:
        """Add a flow or profile; with equal names, the loaded file takes precedence, and the user's comes last."""
        known: dict[str, Any] = self.profiles if kind == "profile" else self.flows
        made = (read_profile if kind == "profile" else read_flow)(reader, name, value, *keys)
        if not name:
            reader.refuse(f"{place(keys[:-1])} has an empty name", *keys)
        if name in known and not user and not (kind == "flow" and name == self.entry):
            reader.refuse(f"the {kind} {name!r} is defined twice, first at {known[name].where}", *keys)
        known.setdefault(name, made)


def _from_environ(environ: Mapping[str, str]) -> tuple[dict[str, Value], list[str]]:
    """Return the settings in `BRIM_*` variables, and a warning for each unknown name.

    Two underscores separate the parts of a key. Budgets may be set by their short names, also with the prefix `SWARM_`.
    An empty variable is ignored. An unknown name is not an error: Kubernetes sets `BRIM_SERVICE_HOST` in every pod if a
    service is called brim.

    Raises:
        SourceError: a value is invalid.
    """
    flat: dict[str, Value] = {}
    warnings: list[str] = []
    for variable in sorted(environ):
        if not variable.startswith((PREFIX, SWARM)) or not environ[variable] or variable == VARIABLE:
            continue
        if variable.endswith(_SECRETS) and "__" not in variable:
            continue
        key = variable.removeprefix(PREFIX).removeprefix(SWARM).lower().replace("__", ".")
        if variable.startswith(SWARM) and not nearest(key, BARE, most=1, cutoff=TYPO):
            continue
        key = BARE.get(key, key)
        setting = SETTINGS.get(key) or setting_of(key)
        if setting is None:
            known = [PREFIX + name.upper() for name in BARE] if variable.startswith(SWARM) else []
            known += [each.variable for each in SETTINGS.values()]
            likely = nearest(variable, known, most=1, cutoff=TYPO)
            hint = f"; did you mean {likely[0]}?" if likely else ""
            warnings.append(f"{variable}: not a setting, so it is ignored{hint}")
            if likely:
                logging.getLogger("brim.settings").warning("%s", warnings[-1])
            continue
        value = value_of(setting, environ[variable], variable)
        if not setting.takes(value):
            raise SourceError(variable, f"{key} must be {setting.expected}, not {shown(value)}")
        value = setting.read(value)
        if key in flat and flat[key].value != value:
            raise SourceError(variable, f"{flat[key].where} sets {key} too: keep one")
        flat[key] = Value(value, "env", variable)
    return with_preset(flat), warnings


def _from_flags(flags: Mapping[str, Any]) -> dict[str, Value]:
    """Return the settings in flags: values by key, or strings of a command line.

    Raises:
        UnknownName: a key is not a setting.
        InvalidValue: a value is invalid.
    """
    flat: dict[str, Value] = {}
    for flag, raw in flags.items():
        key = BARE.get(flag, flag)
        setting = setting_of(key)
        if setting is None:
            raise UnknownName("setting", flag, [name_of(each) for each in SETTINGS])
        value = value_of(setting, raw, flag) if isinstance(raw, str) else raw
        if not setting.takes(value):
            raise InvalidValue(flag, value, setting.expected)
        flat[key] = Value(setting.read(value), "flags", flag)
    return with_preset(flat)


def value_of(setting: Setting, text: str, name: str) -> Any:
    """Return the string itself if the setting accepts strings, or else parse it as YAML."""
    if setting.kind.reads_text:
        return None if setting.null and text in ("null", "~") else text
    return parse(text, name).values
