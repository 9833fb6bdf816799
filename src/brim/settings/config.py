"""Settings from every place that may have them, and the one function that says which counts.

Layers, the weakest first: defaults, user, project, profile, flow, step, env, flags.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from brim.errors import InvalidValue, SourceError, UnknownName, nearest
from brim.files.source import Source, parse, place
from brim.settings import ecology, project
from brim.settings.flow import Flow, Profile, read_flow, read_profile
from brim.settings.given import from_environ, from_flags
from brim.settings.keys import SETTINGS, TOP_KEYS
from brim.settings.layer import Reader, Value, Values
from brim.settings.resolved import Resolved

_DEFAULTS: Values = {key: Value(setting.default, "defaults") for key, setting in SETTINGS.items()}
_MERGING = "override_mode"


@dataclass(slots=True)
class Config:
    """Settings of all layers, read and checked."""

    files: tuple[str, ...]
    """The files that were read."""
    path: str
    """The project's own file; empty where there is none."""
    root: str
    """The directory of the project; empty where there is none."""
    _above: tuple[Values, ...] = field(repr=False)
    """Flags and environment, the strongest first."""
    _below: tuple[Values, ...] = field(repr=False)
    """Project, user and defaults."""
    _flows: dict[str, Flow] = field(repr=False)
    _profiles: dict[str, Profile] = field(repr=False)
    replaces: bool = False
    """Whether any layer asks for budgets to be replaced rather than merged."""
    told: set[str] = field(default_factory=set, repr=False)
    """Warnings that were logged."""
    _bases: dict[tuple[str | None, str | None], tuple[Values, ...]] = field(default_factory=dict, repr=False)

    @property
    def flows(self) -> tuple[str, ...]:
        """The names of the flows."""
        return tuple(self._flows)

    @property
    def profiles(self) -> tuple[str, ...]:
        """The names of the profiles: the project's own and those that come with brim."""
        return tuple(dict.fromkeys((*self._profiles, *project.SHIPPED)))

    @property
    def own_profiles(self) -> tuple[str, ...]:
        """The names of the profiles that the files have."""
        mine = project.shipped("")[: -len(".yaml")]
        return tuple(name for name, profile in self._profiles.items() if not profile.where.startswith(mine))

    def flow(self, name: str) -> Flow:
        """Return a flow.

        Raises:
            UnknownName: there is none of that name.
        """
        found = self._flows.get(name)
        if found is None:
            raise UnknownName("flow", name, self._flows)
        return found

    def profile(self, name: str) -> Profile:
        """Return a profile.

        Raises:
            UnknownName: there is none of that name.
        """
        found = self._profiles.get(name)
        if found is None:
            if name not in project.SHIPPED:
                raise UnknownName("profile", name, self.profiles)
            found = self._profiles[name] = _shipped(name)
        return found

    def resolve(self, profile: str | None = None, flow: str | None = None, step: str | int | None = None) -> Resolved:
        """Return the settings that hold for a profile, a flow and a step.

        Args:
            profile: its name; without it, the active profile of the settings, if any.
            flow: its name.
            step: its id, or its place in the flow from 0.

        Raises:
            UnknownName: no profile, flow or step has that name.
            InvalidValue: a step without its flow.
        """
        base = self._bases.get((profile, flow))
        if base is None:
            base = self._base(profile, flow)
        if step is None:
            return Resolved(self, (*self._above, *base), profile, flow, step)
        if flow is None:
            raise InvalidValue("step", step, "given together with its flow")
        own = self._flows[flow].step(step).settings
        return Resolved(self, (*self._above, own, *base) if own else (*self._above, *base), profile, flow, step)

    def _base(self, profile: str | None, flow: str | None) -> tuple[Values, ...]:
        """Return the layers below the step, the strongest first, those that say nothing left out."""
        chain = [] if flow is None else [self.flow(flow).settings]
        name = self._active() if profile is None else profile
        if name is not None:
            chain += [each.settings for each in self._chain(name)]
        base = (*(values for values in chain if values), *self._below)
        self._bases[profile, flow] = base
        return base

    def _active(self) -> str | None:
        """Return the name of the profile that the settings make active."""
        for values in (*self._above, *self._below):
            if (found := values.get("profile")) is not None:
                return found.value if found.value is None else str(found.value)
        return None

    def _chain(self, name: str) -> list[Profile]:
        """Return a profile and those that it extends, itself first.

        Raises:
            UnknownName: there is none of that name.
            SourceError: one extends itself, or one that does not exist.
        """
        found = [self.profile(name)]
        while (extended := found[-1].extends) is not None:
            last = found[-1]
            if extended == last.name and extended in project.SHIPPED and last.where != project.shipped(extended):
                found.append(_shipped(extended))
            elif any(extended == each.name for each in found):
                way = " -> ".join([*(each.name for each in found), extended])
                raise _at(last.where, f"the profile {last.name!r} extends itself: {way}")
            elif extended not in self.profiles:
                near = nearest(extended, self.profiles, most=1)
                told = f"; did you mean {near[0]!r}?" if near else ""
                raise _at(last.where, f"the profile {last.name!r} extends {extended!r}, which does not exist{told}")
            else:
                found.append(self.profile(extended))
        return found

    def check(self) -> None:
        """Pass if the profiles that are named exist and none extends itself.

        Raises:
            SourceError: one does not.
        """
        for name in list(self._profiles):
            self._chain(name)
        active = next((v for values in (*self._above, *self._below) if (v := values.get("profile"))), None)
        if active is not None and active.value is not None and active.value not in self.profiles:
            near = nearest(active.value, self.profiles, most=1)
            told = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(self.profiles)}"
            raise _at(active.where, f"no profile is called {active.value!r}; {told}")


def load(
    path: str | None, environ: Mapping[str, str], flags: Mapping[str, Any], instead: Mapping[str, str] | None = None
) -> Config:
    """Return the settings of a project; `brim.load_config` says what is taken.

    `instead` has texts by the path of the file that each stands for, so that a change can be tried before it is made.

    Raises:
        SourceError: a file that cannot be read or understood.
        InvalidValue: a flag that cannot be.
    """
    found = project.find(path)
    loading = _Loading(instead)
    source = loading.read(found.path, found.root) if found.path else None
    if source is not None and _is_flow(source):
        loading.alone(source, "flow", _name(source))
        found = project.above(found.root)
        source = loading.read(found.path, found.root) if found.path else None
    own = {} if source is None else loading.top(source, "project")
    if found.root:
        loading.beside(found.root)
    mine = project.user_file(environ)
    if mine and found.path and os.path.realpath(mine) == os.path.realpath(found.path):
        mine = None
    users = loading.top(loading.read(mine), "user") if mine else {}
    above = tuple(values for values in (from_flags(flags), from_environ(environ)) if values)
    config = Config(
        files=tuple(loading.files),
        path=found.path,
        root=found.root,
        _above=above,
        _below=(*(values for values in (own, users, loading.ground) if values), _DEFAULTS),
        _flows=loading.flows,
        _profiles=loading.profiles,
        replaces=loading.replaces or any(_MERGING in values for values in (*above, own, users)),
    )
    config.check()
    return config


def _is_flow(source: Source) -> bool:
    """Return whether a file is a flow of its own: it has steps at its top."""
    return isinstance(source.values, dict) and "steps" in source.values and "flows" not in source.values


def _name(source: Source) -> str:
    """Return the name of a flow that has a file of its own, wherever that lies."""
    told = source.values.get("flow")
    return told if isinstance(told, str) and told else project.name_in(source.path)


def check_text(path: str, text: str, kind: str) -> None:
    """Pass if a text is a file of settings, a flow or a profile.

    Raises:
        SourceError: it is not; the error has every problem with its line.
    """
    loading = _Loading()
    source = parse(text, path, project.MOST_VALUES)
    if kind == "top":
        loading.top(source, "project")
    else:
        loading.alone(source, kind, project.name_in(path))


class _Loading:
    """Files on their way to a config."""

    def __init__(self, instead: Mapping[str, str] | None = None) -> None:
        self._instead = instead or {}
        self.files: list[str] = []
        self.flows: dict[str, Flow] = {}
        self.profiles: dict[str, Profile] = {}
        self.replaces = False
        self.ground: Values = {}
        self._yields = False
        """Whether a name that is known already stands above the one that is read: the user's yield."""

    def read(self, path: str, root: str | None = None) -> Source:
        """Return what a file says, or what the text says that stands for it."""
        if path in self._instead:
            return parse(self._instead[path], path, project.MOST_VALUES)
        return project.read(path, root)

    def top(self, source: Source, layer: str) -> dict[str, Value]:
        """Read a file of settings, with the profiles and flows in it, and return its own."""
        reader = self._reader(source)
        self._yields = layer == "user"
        values = reader.mapping(reader.source.values)
        own = reader.settings(values, layer, TOP_KEYS)
        if ecology.speaks(values):
            self.ground = _shipped(ecology.PROFILE).settings
        for name, value in reader.mapping(values.get("profiles"), "profiles").items():
            self._add_profile(reader, name, value, "profiles", name)
        for name, value in reader.mapping(values.get("flows"), "flows").items():
            self._add_flow(reader, name, value, "flows", name)
        reader.finish()
        return own

    def beside(self, root: str) -> None:
        """Read the flows and profiles that have files of their own."""
        for name, path in project.profiles_in(root):
            self.alone(self.read(path, root), "profile", name)
        for name, path in project.flows_in(root):
            if os.path.realpath(path) not in map(os.path.realpath, self.files[:1]):  # a flow that was asked for
                self.alone(self.read(path, root), "flow", name)

    def alone(self, source: Source, kind: str, name: str) -> None:
        """Read a file that holds one flow or profile."""
        reader = self._reader(source)
        (self._add_profile if kind == "profile" else self._add_flow)(reader, name, source.values)
        reader.finish()

    def _reader(self, source: Source) -> Reader:
        self.files.append(source.path)
        return Reader(source)

    def _add_profile(self, reader: Reader, name: str, value: Any, *keys: str | int) -> None:
        made = read_profile(reader, name, value, *keys)
        self._once("profile", self.profiles.get(name), made.name, reader, keys)
        self.profiles.setdefault(name, made)
        self.replaces = self.replaces or _MERGING in made.settings

    def _add_flow(self, reader: Reader, name: str, value: Any, *keys: str | int) -> None:
        made = read_flow(reader, name, value, *keys)
        self._once("flow", self.flows.get(name), made.name, reader, keys)
        self.flows.setdefault(name, made)
        layers = (made.settings, *(step.settings for step in made.steps))
        self.replaces = self.replaces or any(_MERGING in values for values in layers)

    def _once(
        self, kind: str, known: Flow | Profile | None, name: str, reader: Reader, keys: Sequence[str | int]
    ) -> None:
        if not name:
            reader.refuse(f"{place(tuple(keys[:-1]))} has a name that is empty", *keys)
        if known is not None and not self._yields:
            reader.refuse(f"the {kind} {name!r} stands twice, first at {known.where}", *keys)


def _shipped(name: str) -> Profile:
    reader = Reader(project.read(project.shipped(name)))
    made = read_profile(reader, name, reader.source.values)
    reader.finish()
    return made


def _at(where: str, problem: str) -> SourceError:
    """Return the error about something at a file and line."""
    path, _, line = where.rpartition(":")
    return SourceError(path, problem, line=int(line)) if path and line.isdigit() else SourceError(where, problem)
