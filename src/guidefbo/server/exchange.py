"""Uploads in, packets out: decode, aggregate, encode.

The simulator, `gf.merge` and a coordinator stand on this one function. An upload that
cannot be read, is not of this federation, or does not fit the others is left out and
named; the other sites get their packets all the same.
"""

import warnings
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from guidefbo.core.checks import require_count, shown
from guidefbo.core.errors import SettingsError, UploadWarning, WireError
from guidefbo.core.names import is_name
from guidefbo.core.settings import check_settings, make, settings_of
from guidefbo.core.streams import Streams
from guidefbo.core.threads import single_blas_thread
from guidefbo.server.registry import find_server, server_names
from guidefbo.server.side import Draws, ListeningSide, ServerSide
from guidefbo.wire.codec import read, read_strategy
from guidefbo.wire.envelope import (
    Envelope,
    PacketHead,
    Terms,
    Upload,
    UploadHead,
    digest,
)

K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchanged:
    """The outcome of one exchange."""

    packets: Mapping[str, bytes]
    """What each site gets, under the name its upload came by."""
    left_out: Mapping[str, str]
    """Why an upload was left out, under the name it came by."""


def exchange(
    server: ServerSide,
    uploads: Mapping[str, bytes],
    *,
    t: int,
    seed: int,
    terms: Terms | None = None,
    strategy: str | None = None,
    is_run: bool = False,
    number: int | None = None,
    receivers: Collection[str] | None = None,
    listeners: Collection[str] = (),
) -> Exchanged:
    """Answer uploads with packets.

    Args:
        server: The strategy's shared half.
        uploads: Encoded uploads under any names, one of each site.
        t: Round, from 1.
        seed: Root of the server's randomness.
        terms: Federation, space and strategy the uploads must be of; None: what most
            of them say.
        strategy: The server's own, where there are no terms: uploads of another one
            are left out.
        is_run: Whether this is a simulated run, in which a round is one exchange and
            its number addresses what is drawn for all sites together.
        number: Number of the exchange that packets carry; None: the round.
        receivers: By what names those uploads came whose packets are wanted; None:
            all of them.
        listeners: Sites that get a packet without an upload; the server must be a
            `ListeningSide`.
    """
    left_out: dict[str, str] = {}
    read_ones: list[tuple[str, Upload]] = []
    for name in sorted(uploads):
        try:
            upload = read(uploads[name], server.upload_type, UploadHead)
            if strategy not in (None, upload.head.terms.strategy):
                raise WireError(
                    f"it is of the strategy {upload.head.terms.strategy!r}, and this "
                    f"is the server of {strategy!r}."
                )
        except WireError as error:
            left_out[name] = str(error)
        else:
            read_ones.append((name, upload))
    # In an order of their own: by what name each came decides nothing.
    read_ones.sort(key=lambda item: (item[1].head.site, uploads[item[0]]))
    found = dict(read_ones)
    terms = terms or _commonest(upload.head.terms for upload in found.values())
    if terms is None:
        return Exchanged(packets={}, left_out=left_out)
    checks: tuple[Callable[[dict[str, Upload]], dict[str, str]], ...] = (
        lambda some: _foreign(some, terms),
        _repeated,
        lambda some: _misfits(some, server),
    )
    for check in checks:
        refused = check(found)
        left_out |= refused
        found = {name: u for name, u in found.items() if name not in refused}
    made_of = digest(uploads[name] for name in found)
    draws = Draws(
        streams=Streams(seed),
        federation=terms.federation,
        t=t,
        sequences={u.head.site: u.head.sequence for u in found.values()},
        made_of=None if is_run else made_of,
    )
    heads = _Heads(
        terms=terms,
        number=t if number is None else number,
        num_uploads=len(found),
        made_of=made_of,
        sequences=draws.sequences,
    )
    packets = _answer(server, found, draws, heads, receivers, listeners)
    return Exchanged(packets=packets, left_out=left_out)


def merge(
    uploads: Mapping[str, bytes | str | Upload],
    *,
    method: str | None = None,
    t: int = 1,
    seed: int | None = None,
    settings: Mapping[str, Any] | None = None,
) -> dict[str, bytes]:
    """Return the packet of every site that uploaded, under the same names.

    What the packets hold does not depend on the names or on the order in which the
    uploads arrived. An upload that does not fit is left out with an `UploadWarning`
    that names it.

    Args:
        uploads: The message of each site by name: as `upload` gave it, or its bytes or
            text.
        method: The sites' method or strategy; None: what the uploads say. Of a method
            only the strategy counts; whether its rule exists is not known here.
        t: Round, from 1.
        seed: Root of the server's randomness; 0 if not given. Where noise protects
            the uploads it must be given, and no site may know it.
        settings: Settings of the strategy's server that differ from the defaults.
    """
    if not isinstance(uploads, Mapping) or not uploads:
        raise SettingsError(
            "Expected the uploads of the sites by name, at least one, as in "
            f"{{'north': message}}, got {shown(uploads)}."
        )
    if not all(isinstance(name, str) for name in uploads):
        raise SettingsError(
            f"Expected names that are texts, got {shown(set(uploads))}."
        )
    require_count("t", t, 1)
    data = {name: _to_bytes(name, upload) for name, upload in uploads.items()}
    strategy = _spoken(data) if method is None else _strategy_of(method)
    server = build_server(strategy, settings or {})
    if seed is None and getattr(server, "needs_secret", False):
        raise SettingsError(
            "The noise of this server protects nobody who knows the seed: give a seed "
            "that no site knows, merge(..., seed=...) or --seed."
        )
    seed = require_count("seed", 0 if seed is None else seed, 0)
    with single_blas_thread():
        outcome = exchange(server, data, t=t, seed=seed, strategy=strategy)
    if not outcome.packets:
        raise WireError(
            "No upload can be used: "
            + " ".join(f"{name}: {why}" for name, why in outcome.left_out.items())
        )
    for name, why in outcome.left_out.items():
        warnings.warn(f"{name} is left out: {why}", UploadWarning, stacklevel=2)
    return dict(outcome.packets)


def build_server(strategy: str, settings: Mapping[str, Any]) -> ServerSide:
    """Return a strategy's shared half; nothing of the private side is loaded.

    Args:
        strategy: Its name.
        settings: Those of its server's settings that differ from the defaults.
    """
    kind = find_server(strategy)
    check_settings(settings, settings_of(kind), f"{strategy}'s server")
    return make(kind, settings).build()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Heads:
    """What the heads of one exchange's packets have in common."""

    terms: Terms
    number: int
    num_uploads: int
    made_of: str
    sequences: Mapping[str, int]

    def seal(self, site: str, body: Any) -> bytes:
        head = PacketHead(
            terms=self.terms,
            site=site,
            round=self.number,
            answers=self.sequences.get(site, 0),
            num_uploads=self.num_uploads,
            made_of=self.made_of,
        )
        return Envelope(head=head, body=body).to_bytes()


def _answer(
    server: ServerSide,
    uploads: Mapping[str, Upload],
    draws: Draws,
    heads: _Heads,
    receivers: Collection[str] | None,
    listeners: Collection[str],
) -> dict[str, bytes]:
    bodies = {u.head.site: u.body for u in uploads.values()}
    packets = server.aggregate(bodies, draws.t, draws)
    names = {u.head.site: name for name, u in uploads.items()}
    made = {
        names[site]: heads.seal(site, packets[site])
        for site in sorted(packets, key=names.__getitem__)
        if receivers is None or names[site] in receivers
    }
    if bodies and listeners:
        heard = cast(ListeningSide, server).listen(bodies, sorted(listeners), draws)
        made |= {site: heads.seal(site, packet) for site, packet in heard.items()}
    return made


def _foreign(uploads: Mapping[str, Upload], terms: Terms) -> dict[str, str]:
    """Return which uploads are of another federation, space or strategy."""
    found = {name: terms.difference(u.head.terms) for name, u in uploads.items()}
    return {name: f"{why}." for name, why in found.items() if why is not None}


def _repeated(uploads: Mapping[str, Upload]) -> dict[str, str]:
    """Return which uploads are of a site that has a newer one, or the same, here."""
    newest: dict[str, str] = {}
    for name, upload in uploads.items():
        former = newest.get(upload.head.site)
        if former is None or upload.head.sequence > uploads[former].head.sequence:
            newest[upload.head.site] = name
    return {
        name: f"it is of the site {u.head.site!r}, whose upload came as "
        f"{newest[u.head.site]!r}. Every site needs a name of its own: "
        "guidefbo rename FILE --site NAME, or guidefbo.Agent(..., site='north')."
        for name, u in uploads.items()
        if newest[u.head.site] != name
    }


def _misfits(uploads: Mapping[str, Upload], server: ServerSide) -> dict[str, str]:
    """Return which uploads are of another form than most."""
    forms = {name: server.form(upload.body) for name, upload in uploads.items()}
    usual = _commonest(forms.values())
    return {
        name: f"expected {_words(usual)} as in most uploads, got {_words(form)}. Do "
        "all sites use the same settings?"
        for name, form in forms.items()
        if form != usual
    }


def _commonest(values: Iterable[K]) -> K | None:
    """Return what occurs most often, the first of several, None of nothing."""
    counted = Counter(values).most_common(1)
    return counted[0][0] if counted else None


def _words(form: Hashable) -> str:
    parts = cast(tuple[Any, ...], form) if isinstance(form, tuple) else (form,)
    return " ".join(map(str, parts))


def _to_bytes(name: str, upload: Any) -> bytes:
    if isinstance(upload, Envelope):
        return cast(Upload, upload).to_bytes()
    if isinstance(upload, str):
        return upload.encode(errors="replace")
    if not isinstance(upload, bytes):
        raise WireError(
            f"{name}: expected an upload, its bytes or its text, got {shown(upload)}."
        )
    return upload


def _spoken(data: Mapping[str, bytes]) -> str:
    """Return the strategy that most uploads name."""
    named: list[str] = []
    first: WireError | None = None
    for name in sorted(data):
        try:
            named.append(read_strategy(data[name]))
        except WireError as error:
            first = first or WireError(f"{name}: {error}")
    if not named:
        raise first or WireError("There is no upload.")
    return Counter(sorted(named)).most_common(1)[0][0]


def _strategy_of(method: str) -> str:
    """Return the strategy of a method's name, which may end in a rule."""
    names = server_names()
    if isinstance(method, str):
        # A rule's name may have hyphens too: the longest strategy is meant.
        heads = [n for n in names if method == n or method.startswith(f"{n}-")]
        head = max(heads, key=len, default="")
        # Which rules there are is not known here; what no rule can be called is.
        if head and (method == head or is_name(method[len(head) + 1 :])):
            return head
    raise SettingsError(
        f"Method {shown(method)} exchanges nothing, so there is nothing to merge, or "
        f"it is not known. Strategies with a server side: {', '.join(names)}."
    )
