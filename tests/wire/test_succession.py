"""Letters in which a coordinator's key names the next one."""

from guidefbo.wire.keys import SigningKey
from guidefbo.wire.letter import SUCCESSION, seal
from guidefbo.wire.succession import follow, make_succession, newest_key


def test_keys_are_followed_as_far_as_letters_prove():
    keys = [SigningKey.make() for _ in range(4)]
    made = [make_succession(keys[n], keys[n + 1].public, n + 1).text for n in range(3)]
    for letters in (made, made[::-1]):
        steps = list(follow(keys[0].public, letters))
        assert [s.public_key for s in steps] == [k.public for k in keys[1:]]
        assert newest_key(keys[2].public, letters) == keys[3].public
    assert newest_key(keys[0].public, made[1:]) == keys[0].public
    assert newest_key(keys[0].public, [made[0], made[2]]) == keys[1].public


def test_what_proves_nothing_is_passed_over():
    old, new, other = (SigningKey.make() for _ in range(3))
    good = make_succession(old, new.public, 1)
    fields = {"purpose": SUCCESSION, "federation": None, "site": None, "number": 1}
    keys = {"former_key": old.public, "public_key": other.public}
    nonsense = [
        7,
        "",
        "{}",
        "\ud800",
        "x" * 5000,
        # Signed by somebody else, or for another purpose, or naming no key.
        seal(fields | keys, other).decode(),
        seal(fields | keys | {"purpose": "join"}, old).decode(),
        seal(fields | keys | {"public_key": "abc"}, old).decode(),
        seal(fields | {"former_key": old.public}, old).decode(),
    ]
    assert newest_key(old.public, [*nonsense, good.text]) == new.public
    for letters in (None, {}, "text", nonsense):
        assert newest_key(old.public, letters) == old.public


def test_keys_in_a_circle_end():
    one, two = SigningKey.make(), SigningKey.make()
    there = make_succession(one, two.public, 1).text
    back = make_succession(two, one.public, 2).text
    assert newest_key(one.public, [there, back] * 5) == one.public
