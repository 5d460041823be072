"""Numbers and texts out of a Python pickle, without running anything of it.

A pickle is a small program, and the usual reader does whatever it says. This one knows
the instructions that make texts, floats, lists and dictionaries of them, and refuses
all others: those that import, call or build an object among them.

References:
    The instructions are described in the `pickletools` module of Python.
"""

import struct
from collections.abc import Callable, Hashable
from typing import Any, cast

from guidefbo.core.errors import DataError

_MARK = object()
_PROTO, _FRAME, _STOP = 0x80, 0x95, ord(".")


def read_plain_pickle(data: bytes) -> Any:
    """Return the content of a pickle that holds plain data only.

    >>> read_plain_pickle(bytes.fromhex("80045d944b0161") + b".")
    Traceback (most recent call last):
    ...
    guidefbo.core.errors.DataError: Instruction 0x4b of a pickle is not plain data.
    """
    stack: list[Any] = []
    memo: list[Any] = []
    place = 0
    try:
        while (code := data[place]) != _STOP:
            if (step := _STEPS.get(code)) is None:
                raise DataError(f"Instruction {code:#x} of a pickle is not plain data.")
            place = step(data, place + 1, stack, memo)
        (value,) = stack
    except (IndexError, ValueError, TypeError, AttributeError, struct.error) as error:
        if isinstance(error, DataError):
            raise
        raise DataError("A pickle is damaged or ends too early.") from error
    return value


_Step = Callable[[bytes, int, list[Any], list[Any]], int]


def _skip(count: int) -> _Step:
    return lambda data, place, stack, memo: place + count


def _push(make: Callable[[], Any]) -> _Step:
    def step(data: bytes, place: int, stack: list[Any], memo: list[Any]) -> int:
        stack.append(make())
        return place

    return step


def _float(data: bytes, place: int, stack: list[Any], memo: list[Any]) -> int:
    stack.append(struct.unpack_from(">d", data, place)[0])
    return place + 8


def _text(data: bytes, place: int, stack: list[Any], memo: list[Any]) -> int:
    end = place + 1 + data[place]
    if end > len(data):
        raise IndexError
    stack.append(data[place + 1 : end].decode())
    return end


def _memoize(data: bytes, place: int, stack: list[Any], memo: list[Any]) -> int:
    memo.append(stack[-1])
    return place


def _recall(size: int) -> _Step:
    def step(data: bytes, place: int, stack: list[Any], memo: list[Any]) -> int:
        stack.append(memo[int.from_bytes(data[place : place + size], "little")])
        return place + size

    return step


def _appends(data: bytes, place: int, stack: list[Any], memo: list[Any]) -> int:
    items = _above_mark(stack)
    cast(list[Any], _last(stack, list)).extend(items)
    return place


def _append(data: bytes, place: int, stack: list[Any], memo: list[Any]) -> int:
    item = stack.pop()
    cast(list[Any], _last(stack, list)).append(item)
    return place


def _setitems(data: bytes, place: int, stack: list[Any], memo: list[Any]) -> int:
    items = _above_mark(stack)
    pairs = zip(items[::2], items[1::2], strict=True)
    cast(dict[Hashable, Any], _last(stack, dict)).update(pairs)
    return place


def _above_mark(stack: list[Any]) -> list[Any]:
    items: list[Any] = []
    while (item := stack.pop()) is not _MARK:
        items.append(item)
    return items[::-1]


def _last(stack: list[Any], kind: type) -> Any:
    if not isinstance(stack[-1], kind):
        raise TypeError
    return stack[-1]


_STEPS: dict[int, _Step] = {
    _PROTO: _skip(1),
    _FRAME: _skip(8),
    ord("G"): _float,
    ord("("): _push(lambda: _MARK),
    ord("]"): _push(list),
    ord("}"): _push(dict),
    ord("a"): _append,
    ord("e"): _appends,
    ord("u"): _setitems,
    ord("h"): _recall(1),
    ord("j"): _recall(4),
    0x8C: _text,
    0x94: _memoize,
}
