"""The file system against a model that anyone can check: nested dictionaries.

The model knows names and bytes only. A directory is a dictionary, a file is a list of one bytes
value, so two names of one file are one list. Whatever is asked, both must agree on whether it
works, and on everything that can be seen afterwards.
"""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from nexemu.abi import T_FILE
from nexemu.errors import BadFile
from nexemu.fs.directory import entries
from nexemu.fs.ramfs import RamFs


class RefusedError(Exception):
    """The model says no."""


class Model:
    """The tree as nested dictionaries."""

    def __init__(self):
        self.root = {}

    def find(self, path):
        node = self.root
        for name in path.strip("/").split("/") if path.strip("/") else []:
            if not isinstance(node, dict) or name not in node:
                raise RefusedError
            node = node[name]
        return node

    def place(self, path):
        above, _, name = path.rpartition("/")
        directory = self.find(above)
        if not name or not isinstance(directory, dict):
            raise RefusedError
        return directory, name

    def create(self, path):
        directory, name = self.place(path)
        if isinstance(directory.setdefault(name, [b""]), dict):
            raise RefusedError

    def mkdir(self, path):
        directory, name = self.place(path)
        if name in directory:
            raise RefusedError
        directory[name] = {}

    def link(self, old, new):
        file = self.find(old)
        directory, name = self.place(new)
        if isinstance(file, dict) or name in directory:
            raise RefusedError
        directory[name] = file

    def unlink(self, path):
        directory, name = self.place(path)
        node = directory.get(name)
        if node is None or (isinstance(node, dict) and node):
            raise RefusedError
        del directory[name]


def files_of(tree):
    """Every list below ``tree``, once for each of its names."""
    for node in tree.values():
        if isinstance(node, dict):
            yield from files_of(node)
        else:
            yield node


paths = st.lists(st.sampled_from("abc"), max_size=3).map(lambda names: "/" + "/".join(names))
contents = st.binary(max_size=30)
which = st.integers(0, 100)


class RamFsAgainstModel(RuleBasedStateMachine):
    """Random calls, some of them through files that are held open after their names are gone."""

    def __init__(self):
        super().__init__()
        self.fs = RamFs(ninode=5)
        self.model = Model()
        self.held = []  # (inode, the model's list) pairs

    def both(self, real, expected):
        """Run both; returns whether it worked, which must be the same."""
        try:
            expected()
        except RefusedError:
            wanted = False
        else:
            wanted = True
        try:
            real()
        except BadFile:
            worked = False
        else:
            worked = True
        assert worked == wanted
        return worked

    @precondition(lambda self: self.fs.in_use < 5)
    @rule(path=paths, data=contents)
    def create_and_write(self, path, data):
        def write():
            inode = self.fs.create(path.encode(), T_FILE, self.fs.root)
            self.fs.truncate(inode)
            self.fs.writei(inode, 0, data)

        if self.both(write, lambda: self.model.create(path)):
            self.model.find(path)[0] = data

    @precondition(lambda self: self.fs.in_use < 5)
    @rule(path=paths)
    def mkdir(self, path):
        self.both(lambda: self.fs.mkdir(path.encode(), self.fs.root), lambda: self.model.mkdir(path))

    @rule(old=paths, new=paths)
    def link(self, old, new):
        self.both(
            lambda: self.fs.link(old.encode(), new.encode(), self.fs.root),
            lambda: self.model.link(old, new),
        )

    @rule(path=paths)
    def unlink(self, path):
        self.both(lambda: self.fs.unlink(path.encode(), self.fs.root), lambda: self.model.unlink(path))

    @precondition(lambda self: list(files_of(self.model.root)) and self.fs.in_use < 5)
    @rule(path=paths)
    def hold(self, path):
        try:
            file = self.model.find(path)
        except RefusedError:
            return
        if isinstance(file, list):
            self.held.append((self.fs.idup(self.fs.namei(path.encode(), self.fs.root)), file))

    @precondition(lambda self: self.held)
    @rule(index=which, where=which, data=contents)
    def write_held(self, index, where, data):
        inode, file = self.held[index % len(self.held)]
        offset = min(where, len(file[0]))
        self.fs.writei(inode, offset, data)
        file[0] = file[0][:offset] + data + file[0][offset + len(data) :]

    @precondition(lambda self: self.held)
    @rule(index=which)
    def let_go(self, index):
        inode, _ = self.held.pop(index % len(self.held))
        self.fs.iput(inode)

    @invariant()
    def same_tree(self):
        self.compare(self.fs.root, self.fs.root, self.model.root)

    def compare(self, directory, parent, expected):
        found = {entry.name.decode(): self.fs.inodes.at(entry.inum) for entry in entries(directory)}
        assert found.pop(".") is directory
        assert found.pop("..") is parent
        assert found.keys() == expected.keys()
        assert directory.nlink == 1 + sum(isinstance(node, dict) for node in expected.values())
        for name, node in expected.items():
            if isinstance(node, dict):
                self.compare(found[name], directory, node)
            else:
                assert bytes(found[name].readi(0, 999)) == node[0]
                assert found[name].nlink == sum(node is other for other in files_of(self.model.root))

    @invariant()
    def same_held_bytes_and_a_sound_table(self):
        for inode, file in self.held:
            assert bytes(inode.readi(0, 999)) == file[0]
        self.fs.audit([inode for inode, _ in self.held])


TestRamFsAgainstModel = RamFsAgainstModel.TestCase
TestRamFsAgainstModel.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
