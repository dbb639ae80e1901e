"""Open files: how a path becomes one, sharing, closing, and the count of holders."""

import pytest

from nexemu.abi import O_CREATE, O_RDONLY, O_RDWR, O_TRUNC, O_WRONLY, T_FILE
from nexemu.errors import BadFile, KernelPanic
from nexemu.fs.console import CONSOLE, Console
from nexemu.fs.file_table import FileTable
from nexemu.fs.mapped import MappedFile
from nexemu.fs.ramfs import RamFs


class Machine:
    """A file system with ``/file`` = "0123456789" and ``/dir``, a console, and the table under test."""

    def __init__(self, nfile=64, ninode=64):
        self.fs = RamFs(ninode)
        self.fs.mkdir(b"/dir", self.fs.root)
        self.fs.writei(self.fs.create(b"/file", T_FILE, self.fs.root), 0, b"0123456789")
        self.screen = []
        self.console = Console(self.screen.append, print)
        self.files = FileTable(self.fs, {CONSOLE: self.console}, nfile)

    def open(self, path, mode=O_RDONLY):
        return self.files.open(path, mode, self.fs.root)

    def bytes_of(self, path):
        return bytes(self.fs.namei(path, self.fs.root).readi(0, 999))


@pytest.fixture
def machine():
    machine = Machine()
    yield machine
    machine.fs.audit(machine.files.inodes())


# ---- reading and writing files ----------------------------------------------------------------


def test_reading_moves_the_offset_to_the_end_of_the_file(machine):
    file = machine.open(b"/file")
    assert [bytes(file.read(n)) for n in (4, 0, 99, 99)] == [b"0123", b"", b"456789", b""]
    assert file.offset == 10
    assert file.channel is None


def test_writing_replaces_and_then_grows(machine):
    file = machine.open(b"/file", O_RDWR)
    file.read(8)
    assert file.write(b"abcd") == 4
    assert machine.bytes_of(b"/file") == b"01234567abcd"
    assert bytes(file.read(9)) == b""


def test_each_open_has_its_own_offset_and_dup_shares_it(machine):
    first, second = machine.open(b"/file"), machine.open(b"/file")
    shared = machine.files.dup(first)
    first.read(3)
    assert bytes(shared.read(1)) == b"3"
    assert bytes(second.read(1)) == b"0"


@pytest.mark.parametrize(
    ("mode", "readable", "writable"),
    [
        (O_RDONLY, True, False),
        (O_WRONLY, False, True),
        (O_RDWR, True, True),
        (O_WRONLY | O_RDWR, False, True),
        (O_CREATE, True, False),
    ],
)
@pytest.mark.parametrize("path", [b"/file", b"console"])
def test_the_mode_says_what_may_be_done(machine, path, mode, readable, writable):
    file = machine.open(path, mode)
    machine.console.hangup()
    assert (file.readable, file.writable) == (readable, writable)
    if not readable:
        with pytest.raises(BadFile, match="not open for reading"):
            file.read(1)
    if not writable:
        with pytest.raises(BadFile, match="not open for writing"):
            file.write(b"x")


def test_a_negative_count_is_refused(machine):
    with pytest.raises(BadFile, match="-1 bytes"):
        machine.open(b"/file").read(-1)


def test_a_write_beyond_a_file_that_shrank_fails(machine):
    file = machine.open(b"/file", O_RDWR)
    file.read(5)
    machine.open(b"/file", O_WRONLY | O_TRUNC)
    with pytest.raises(BadFile, match="hole"):
        file.write(b"x")
    assert bytes(file.read(5)) == b""


# ---- open modes -------------------------------------------------------------------------------


def test_create_makes_a_file_that_is_not_there(machine):
    file = machine.open(b"/new", O_CREATE | O_WRONLY)
    file.write(b"x")
    assert machine.bytes_of(b"/new") == b"x"


def test_create_opens_a_file_that_is_there_without_emptying_it(machine):
    assert bytes(machine.open(b"/file", O_CREATE | O_RDWR).read(99)) == b"0123456789"


@pytest.mark.parametrize("access", [O_RDONLY, O_WRONLY, O_RDWR])
def test_truncate_empties_a_file_however_it_is_opened(machine, access):
    machine.open(b"/file", access | O_TRUNC)
    assert machine.bytes_of(b"/file") == b""


def test_a_directory_can_be_read(machine):
    assert bytes(machine.open(b"/dir").read(99)) == b"\2\0" + b".".ljust(14, b"\0") + b"\1\0" + b"..".ljust(
        14, b"\0"
    )


@pytest.mark.parametrize("mode", [O_WRONLY, O_RDWR, O_TRUNC, O_CREATE, O_CREATE | O_RDWR])
def test_a_directory_cannot_be_opened_otherwise(machine, mode):
    with pytest.raises(BadFile):
        machine.open(b"/dir", mode)
    assert machine.files.in_use == 0


@pytest.mark.parametrize("path", [b"/none", b"/none/x", b"/file/x", b"/console"])
def test_what_is_not_there_cannot_be_opened(machine, path):
    with pytest.raises(BadFile):
        machine.open(path)
    assert machine.files.in_use == 0


# ---- devices ----------------------------------------------------------------------------------


def test_exactly_console_opens_the_console_from_any_directory(machine):
    file = machine.files.open(b"console", O_RDWR, machine.fs.namei(b"/dir", machine.fs.root))
    assert file.channel is machine.console
    assert file.read(9) is None
    assert file.write(b"hi") == 2
    assert machine.screen == [b"hi"]
    with pytest.raises(BadFile, match="struct stat"):
        file.stat()


def test_the_console_can_be_opened_without_a_path(machine):
    file = machine.files.console()
    assert (file.readable, file.writable, file.inode) == (True, True, None)
    assert file.channel is machine.console
    assert machine.files.in_use == 1


def test_where_the_console_has_no_name_of_its_own_a_path_is_a_path(machine):
    files = FileTable(machine.fs, {CONSOLE: machine.console}, nfile=1, named_console=False)
    with pytest.raises(BadFile, match="there is no console"):
        files.open(b"console", O_RDWR, machine.fs.root)
    machine.fs.mknod(b"console", CONSOLE, 0, machine.fs.root)
    file = files.open(b"console", O_RDWR, machine.fs.root)
    assert file.stat()[8:10] == b"\3\0"
    with pytest.raises(BadFile, match="no more than 1 files"):
        files.console()
    files.close(file)


def test_a_device_node_opens_its_device_and_has_a_stat(machine):
    machine.fs.mknod(b"/tty", 1, 0, machine.fs.root)  # the console is device 1 in every version
    file = machine.open(b"/tty", O_RDWR | O_TRUNC)
    assert file.channel is machine.console
    assert file.stat()[8:10] == b"\3\0"
    machine.fs.audit(machine.files.inodes())
    machine.files.close(file)


def test_a_node_of_an_unknown_device_cannot_be_opened(machine):
    machine.fs.mknod(b"/disk", 7, 0, machine.fs.root)
    with pytest.raises(BadFile, match="no device 7"):
        machine.open(b"/disk")
    assert machine.files.in_use == 0


# ---- pipes ------------------------------------------------------------------------------------


def test_the_two_ends_of_a_pipe(machine):
    reader, writer = machine.files.pipe()
    assert (reader.readable, reader.writable) == (True, False)
    assert (writer.readable, writer.writable) == (False, True)
    assert reader.channel is writer.channel
    assert reader.read(1) is None
    assert writer.write(b"abc") == 3
    assert reader.read(9) == b"abc"
    with pytest.raises(BadFile, match="struct stat"):
        reader.stat()


def test_the_last_close_of_an_end_is_seen_by_the_other(machine):
    reader, writer = machine.files.pipe()
    machine.files.dup(writer)
    machine.files.close(writer)
    assert reader.read(1) is None
    machine.files.close(writer)
    assert reader.read(1) == b""


def test_a_pipe_is_released_once_when_both_ends_are_closed(machine):
    released = []
    ends = machine.files.pipe(lambda: released.append(True))
    machine.files.close(ends[0])
    assert released == []
    machine.files.close(ends[1])
    assert released == [True]
    assert machine.files.in_use == 0


def test_a_pipe_takes_exactly_two_places():
    machine = Machine(nfile=2)
    machine.files.pipe()
    assert machine.files.in_use == 2


def test_a_pipe_that_does_not_fit_is_released_at_once():
    machine = Machine(nfile=3)
    machine.files.pipe()
    released = []
    with pytest.raises(BadFile, match="no more than 3 files"):
        machine.files.pipe(lambda: released.append(True))
    assert released == [True]
    with pytest.raises(BadFile):
        machine.files.pipe()
    assert machine.files.in_use == 2


# ---- the table --------------------------------------------------------------------------------


def test_a_full_table_neither_creates_nor_truncates():
    machine = Machine(nfile=1)
    held = machine.open(b"/dir")
    with pytest.raises(BadFile, match="no more than 1 files"):
        machine.open(b"/file", O_TRUNC)
    with pytest.raises(BadFile):
        machine.open(b"/new", O_CREATE)
    assert machine.bytes_of(b"/file") == b"0123456789"
    with pytest.raises(BadFile):
        machine.fs.namei(b"/new", machine.fs.root)
    machine.files.close(held)
    machine.open(b"/new", O_CREATE)


def test_a_full_inode_table_neither_creates_nor_truncates():
    machine = Machine(ninode=1)
    machine.open(b"/dir")
    for path, mode in ((b"/file", O_TRUNC), (b"/new", O_CREATE)):
        with pytest.raises(BadFile, match="no more than 1 inodes"):
            machine.open(path, mode)
    assert machine.files.in_use == 1
    assert machine.bytes_of(b"/file") == b"0123456789"
    with pytest.raises(BadFile):
        machine.fs.namei(b"/new", machine.fs.root)


def test_an_open_file_outlives_its_name(machine):
    file = machine.open(b"/file")
    inode = file.inode
    machine.fs.unlink(b"/file", machine.fs.root)
    assert bytes(file.read(3)) == b"012"
    assert file.stat()[10:12] == b"\0\0"
    machine.files.close(file)
    assert machine.fs.create(b"/again", T_FILE, machine.fs.root).inum == inode.inum


def test_closing_or_sharing_a_closed_file_is_a_panic(machine):
    file = machine.open(b"/file")
    machine.files.close(file)
    with pytest.raises(KernelPanic, match="fileclose"):
        machine.files.close(file)
    with pytest.raises(KernelPanic, match="filedup"):
        machine.files.dup(file)


def test_audit_accepts_each_holder_of_each_file(machine):
    file, console = machine.open(b"/file"), machine.open(b"console")
    machine.files.dup(file)
    machine.files.audit([file, console, file])


@pytest.mark.parametrize(
    ("holders", "message"),
    [
        ("fc", "count 2, 1 hold it"),
        ("fffc", "count 2, 3 hold it"),
        ("ff", "count 1, 0 hold it"),
        ("ffcx", "a file that is closed"),
    ],
)
def test_audit_finds_a_wrong_count(machine, holders, message):
    closed = machine.open(b"/file")
    machine.files.close(closed)
    by_name = {"f": machine.open(b"/file"), "c": machine.open(b"console"), "x": closed}
    machine.files.dup(by_name["f"])
    with pytest.raises(KernelPanic, match=message):
        machine.files.audit([by_name[name] for name in holders])


# ---- mappings ---------------------------------------------------------------------------------


def test_a_mapping_keeps_the_bytes_after_close_and_unlink(machine):
    file = machine.open(b"/file")
    backing = MappedFile(machine.files, file)
    backing.hold()
    machine.files.close(file)
    machine.fs.unlink(b"/file", machine.fs.root)
    assert bytes(backing.read_at(8, 4096)) == b"89"
    assert bytes(backing.read_at(4096, 4096)) == b""
    machine.files.audit([backing.file])
    backing.drop()
    assert machine.files.in_use == 0


def test_only_a_readable_file_can_be_mapped(machine):
    for file, message in (
        (machine.files.pipe()[0], "only a file"),
        (machine.open(b"console"), "only a file"),
        (machine.open(b"/file", O_WRONLY), "not open for reading"),
    ):
        with pytest.raises(BadFile, match=message):
            MappedFile(machine.files, file)
    MappedFile(machine.files, machine.open(b"/dir"))
