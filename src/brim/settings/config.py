"""The settings of all layers, and their precedence.

Layers, from the weakest: defaults, shipped profiles, user, project, own profiles, flow, step, env, flags. Files of the
user and of the project override shipped profiles, because someone wrote them for this purpose.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from brim.errors import InvalidValue, SourceError, UnknownName
from brim.settings import project
from brim.settings.flow import Flow, Profile, shipped_profile
from brim.settings.keys import SETTINGS
from brim.settings.resolved import Resolved
from brim.settings.values import Value, Values, error_at

_DEFAULTS: Values = {key: Value(setting.default, "defaults") for key, setting in SETTINGS.items()}
_PACKS: Values = {
    "history.selection": Value("priority", "defaults"),
    "history.agents": Value("flow", "defaults"),
}
"""Defaults for flows and packs, which keep steps by the class of their agent."""


@dataclass(slots=True)
class Config:
    """The settings of all layers, checked."""

    files: tuple[str, ...]
    """The files that were read."""
    path: str
    """The project's file; empty if there is none."""
    root: str
    """The project's directory; empty if there is none."""
    _outside: tuple[Values, ...] = field(repr=False)
    """Flags and environment, the strongest first."""
    _written: tuple[Values, ...] = field(repr=False)
    """The settings in the files of the project, the user and the runtime."""
    _inherited: Values = field(repr=False)
    """The settings of a shipped profile that a file extends implicitly by using its words."""
    _flows: dict[str, Flow] = field(repr=False)
    _profiles: dict[str, Profile] = field(repr=False)
    entry: str | None = None
    """The flow in the loaded file, if it is the file of a flow."""
    ignored: tuple[str, ...] = ()
    """Warnings about ignored keys and `BRIM_*` variables, each with its place."""
    _logged: set[str] = field(default_factory=set, repr=False)
    """Warnings that were logged."""

    @property
    def flows(self) -> tuple[str, ...]:
        """The names of the flows."""
        return tuple(self._flows)

    @property
    def profiles(self) -> tuple[str, ...]:
        """The names of the profiles of the project and of brim."""
        return tuple(dict.fromkeys((*self._profiles, *project.SHIPPED)))

    def flow(self, name: str) -> Flow:
        """Return a flow.

        Raises:
            UnknownName: no flow has that name.
        """
        found = self._flows.get(name)
        if found is None:
            raise UnknownName("flow", name, self._flows)
        return found

    def profile(self, name: str) -> Profile:
        """Return a profile.

        Raises:
            UnknownName: no profile has that name.
        """
        found = self._profiles.get(name)
        if found is None:
            if name not in project.SHIPPED:
                raise UnknownName("profile", name, self.profiles)
            found = self._profiles[name] = shipped_profile(name)
        return found

    def resolve(
        self,
        profile: str | None = None,
        flow: str | None = None,
        step: str | int | None = None,
        *,
        pack: bool = False,
    ) -> Resolved:
        """Return the settings of a profile, a flow and a step.

        Args:
            profile: the name of the profile; by default the active one, if any.
            flow: the name of the flow.
            step: the id of the step, or its index in the flow from 0.
            pack: whether the settings are for a pack without a flow, whose history is selected by priority too.

        Raises:
            UnknownName: no profile, flow or step has that name.
            InvalidValue: there is a step but no flow.
        """
        base = self._base(profile, flow, pack=pack)
        layers = (*self._outside, *base)
        if step is not None:
            if flow is None:
                raise InvalidValue("step", step, "used together with its flow")
            settings = self._flows[flow].step(step).settings
            layers = (*self._outside, settings, *base) if settings else layers
        return Resolved(layers, (profile, flow, step), self._logged)

    def places(self, profile: str | None = None) -> Iterator[Resolved]:
        """Yield the settings of the project, of each flow, and of each step with settings."""
        yield self.resolve(profile)
        for name, flow in self._flows.items():
            yield self.resolve(profile, name)
            for step in flow.steps:
                if step.settings:
                    yield self.resolve(profile, name, step.id)

    def _base(self, profile: str | None, flow: str | None, *, pack: bool) -> tuple[Values, ...]:
        """Return the non-empty layers below the step, the strongest first."""
        own = [] if flow is None else [self.flow(flow).settings]
        name = self._active()[0] if profile is None else profile
        chain = [] if name is None else self._chain(name)
        own += [each.settings for each in chain if not project.is_shipped(each.where)]
        shipped = [each.settings for each in chain if project.is_shipped(each.where)]
        packs = _PACKS if flow is not None or pack else {}
        layers = (*own, *self._written, *shipped, self._inherited, packs, _DEFAULTS)
        return tuple(values for values in layers if values)

    def _active(self) -> tuple[str | None, str]:
        """Return the name of the active profile and where it is set."""
        found = next(values["profile"] for values in (*self._outside, *self._written, _DEFAULTS) if "profile" in values)
        return found.value, found.where

    def _chain(self, name: str) -> list[Profile]:
        """Return a profile and those that it extends, in order.

        A profile of the project may extend the shipped one of its own name.

        Raises:
            UnknownName: no profile has that name.
            SourceError: a profile extends itself, or one that does not exist.
        """
        found = [self.profile(name)]
        while (extended := found[-1].extends) is not None:
            last = found[-1]
            try:
                if extended == last.name and extended in project.SHIPPED and not project.is_shipped(last.where):
                    found.append(shipped_profile(extended))
                else:
                    found.append(self.profile(extended))
            except UnknownName as error:
                raise error_at(
                    last.where, f"the profile {last.name!r} extends one that does not exist: {error}"
                ) from error
            if any(found[-1] is each for each in found[:-1]):
                way = " -> ".join(each.name for each in found)
                raise error_at(last.where, f"the profile {last.name!r} extends itself: {way}")
        return found

    def check(self) -> None:
        """Check that every profile exists and none extends itself.

        Raises:
            SourceError: a profile does not exist, or extends itself.
        """
        for name in list(self._profiles):
            self._chain(name)
        active, where = self._active()
        try:
            if active is not None:
                self.profile(active)
        except UnknownName as error:
            raise error_at(where, str(error)) from error

    def validate(self) -> list[str]:
        """Check the settings of every profile, flow and step, and return the warnings.

        Raises:
            SourceError: a setting is invalid; the message lists every problem with its file and line.
        """
        own = [name for name, profile in self._profiles.items() if not project.is_shipped(profile.where)]
        problems: dict[str, SourceError] = {}
        warnings: dict[str, None] = dict.fromkeys(self.ignored)
        for settings in (*self.places(), *(self.resolve(profile=name) for name in own)):
            try:
                settings.meter()
                settings.sections(dict.fromkeys(settings.names(), ""))
                refused = (str(error_at(each.where, each.refusal)) for _, each in settings.items() if each.refusal)
                warnings.update(dict.fromkeys((*settings.warnings, *refused)))
            except SourceError as error:
                problems.setdefault(str(error), error)
        if problems:
            first, *others = problems.values()
            raise SourceError(first.path, "; ".join([first.problem, *map(str, others)]), line=first.line)
        return list(warnings)
