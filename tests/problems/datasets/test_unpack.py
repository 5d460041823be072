"""Archives: what is taken out of them, and what is refused."""

import gzip
import io
import lzma
import os
import stat
import tarfile
import zipfile

import pytest

from guidefbo.problems.datasets.unpack import Limits, UnpackError, unpack

FILES = {"one.txt": b"1", "sub/two.txt": b"22", "sub/deep/three.txt": b"333" * 1000}


def zipped(files, *, method=zipfile.ZIP_DEFLATED):
    """Return a zip archive; a name may be a `ZipInfo`."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as file:
        for name, data in files.items():
            file.writestr(name, data, compress_type=method)
    return out.getvalue()


def tarred(files, *, kind=tarfile.REGTYPE, target=""):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as file:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, target
            info.size = len(data) if kind == tarfile.REGTYPE else 0
            file.addfile(info, io.BytesIO(data))
    return out.getvalue()


def tar_xz(files, **options):
    return lzma.compress(tarred(files, **options))


def tar_gz(files, **options):
    return gzip.compress(tarred(files, **options))


PACKERS = [zipped, tarred, tar_gz, tar_xz]


def taken(tmp_path, data, **options):
    """Unpack into a folder; return its files."""
    archive, folder = tmp_path / "archive", tmp_path / "in" / "folder"
    archive.write_bytes(data)
    folder.mkdir(parents=True)
    unpack(archive, folder, **options)
    return {
        p.relative_to(folder).as_posix(): p.read_bytes()
        for p in folder.rglob("*")
        if p.is_file()
    }


def refused(tmp_path, data, word, **options):
    with pytest.raises(UnpackError, match=word):
        taken(tmp_path, data, **options)
    # Nothing beside the folder: what is there is what the test has put there.
    assert {p.name for p in tmp_path.iterdir()} == {"archive", "in"}
    assert os.listdir(tmp_path / "in") == ["folder"]


@pytest.mark.parametrize("pack", PACKERS)
def test_files_come_out_as_they_went_in(tmp_path, pack):
    assert taken(tmp_path, pack(FILES)) == FILES


@pytest.mark.parametrize("pack", PACKERS)
def test_only_what_is_asked_for_is_written(tmp_path, pack):
    assert taken(tmp_path, pack(FILES), only={"sub/two.txt", "not there"}) == {
        "sub/two.txt": b"22"
    }


def test_folders_of_an_archive_are_no_files(tmp_path):
    data = zipped({"sub/": b"", "sub/two.txt": b"22"})
    assert taken(tmp_path, data) == {"sub/two.txt": b"22"}


@pytest.mark.parametrize("pack", PACKERS)
@pytest.mark.parametrize(
    "name",
    ["../up.txt", "sub/../../up.txt", "/up.txt", "a//b", "./a", "a\\..\\up", "C:up"],
)
def test_a_name_that_would_leave_the_folder(tmp_path, pack, name):
    refused(tmp_path, pack({"fine.txt": b"", name: b"x"}), "would not stay")
    # A zip archive is refused before anything of it is written.
    if pack is zipped:
        assert os.listdir(tmp_path / "in" / "folder") == []


@pytest.mark.parametrize("pack", PACKERS)
def test_such_a_name_is_refused_though_nobody_asks_for_it(tmp_path, pack):
    refused(tmp_path, pack({"../up.txt": b"x"}), "would not stay", only={"fine.txt"})


def with_mode(name, mode):
    info = zipfile.ZipInfo(name)
    info.external_attr = mode << 16
    return info


@pytest.mark.parametrize(
    "mode", [stat.S_IFLNK | 0o777, stat.S_IFIFO, stat.S_IFCHR, stat.S_IFSOCK]
)
def test_links_and_devices_in_a_zip_archive(tmp_path, mode):
    data = zipped({with_mode("link", mode): b"/etc/passwd"})
    refused(tmp_path, data, "link or a device")


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE]
)
def test_links_and_devices_in_a_tar_archive(tmp_path, kind):
    data = tar_xz({"link": b""}, kind=kind, target="../../archive")
    refused(tmp_path, data, "link or a device")


def test_a_link_and_a_file_behind_it(tmp_path):
    """The old trick: a link to outside, then a file through it."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as file:
        link = tarfile.TarInfo("sub")
        link.type, link.linkname = tarfile.SYMTYPE, ".."
        file.addfile(link)
        info = tarfile.TarInfo("sub/up.txt")
        info.size = 1
        file.addfile(info, io.BytesIO(b"x"))
    refused(tmp_path, out.getvalue(), "link or a device")


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize(("first", "second"), [("a.txt", "a.txt"), ("a", "A")])
def test_two_members_of_one_name(tmp_path, first, second):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        file.writestr(first, b"1")
        file.writestr(second, b"2")
    refused(tmp_path, out.getvalue(), "two members named")


@pytest.mark.parametrize("pack", PACKERS)
def test_too_many_members(tmp_path, pack):
    data = pack({f"{n}.txt": b"" for n in range(6)})
    refused(tmp_path, data, "more than 5 members", limits=Limits(num_members=5))


@pytest.mark.parametrize("pack", PACKERS)
def test_too_many_bytes(tmp_path, pack):
    data = pack({"a": bytes(3_000_000), "b": bytes(3_000_000)})
    limits = Limits(num_bytes=5_000_000, ratio=1e9)
    refused(tmp_path, data, "more than 5000000 bytes", limits=limits)
    assert sum(p.stat().st_size for p in (tmp_path / "in/folder").iterdir()) < 5_000_001


@pytest.mark.parametrize("pack", [zipped, tar_gz, tar_xz])
def test_a_bomb(tmp_path, pack):
    """Eight megabytes of zeros in a few kilobytes grow more than anything should."""
    data = pack({"zeros": bytes(8_000_000)})
    assert len(data) < 20_000
    refused(tmp_path, data, "more than", only=())
    assert os.listdir(tmp_path / "in" / "folder") == []


def test_a_bomb_in_the_header_of_a_tar_archive(tmp_path):
    """A name of many megabytes is read before its member is known."""
    data = lzma.compress(tarred({"x" * 8_000_000: b""}))
    refused(tmp_path, data, "more bytes than may come out")


def test_a_tar_archive_of_much_padding_is_no_bomb(tmp_path):
    files = {f"folder/{n:03}.txt": b"%d" % n for n in range(500)}
    assert taken(tmp_path, tar_xz(files)) == files


def test_an_archive_that_wants_much_memory(tmp_path):
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 512 << 20}]
    data = lzma.compress(tarred(FILES), filters=filters)
    refused(tmp_path, data, "Memory usage limit")


def test_an_encrypted_member(tmp_path):
    data = bytearray(zipped({"a.txt": b"1"}))
    for mark, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(mark) + place] |= 1
    refused(tmp_path, bytes(data), "encrypted")


@pytest.mark.parametrize("pack", PACKERS)
@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.7])
def test_a_part_of_an_archive(tmp_path, pack, share):
    files = {"a": os.urandom(20_000), "b": os.urandom(20_000)}
    data = pack(files)
    refused(tmp_path, data[: int(share * len(data))], "no archive that can be read")


def test_a_member_that_was_changed(tmp_path):
    data = bytearray(zipped({"a": b"0123456789" * 10}, method=zipfile.ZIP_STORED))
    data[data.index(b"0123456789")] ^= 1
    refused(tmp_path, bytes(data), "Bad CRC-32")


def test_a_zip_archive_that_lies_about_a_size(tmp_path):
    """It says one byte and holds a million: what comes out is counted, and checked."""
    data = bytearray(zipped({"a": bytes(1_000_000)}))
    for mark, place in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        at = data.index(mark) + place
        data[at : at + 4] = (1).to_bytes(4, "little")
    refused(tmp_path, bytes(data), "no archive that can be read")
