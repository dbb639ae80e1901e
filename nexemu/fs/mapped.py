"""A file as the backing of an mmap area.

Memory asks for bytes at an offset and says how many areas refer to the file; that is all the
two know of each other. The mapping shares the open file, so closing the descriptor, or
removing the file's name, does not take the bytes away.

ABI.md section 6
"""

from nexemu.errors import BadFile
from nexemu.fs.content import Data
from nexemu.fs.file import File, InodeFile
from nexemu.fs.file_table import FileTable


class MappedFile:
    """``file`` as one or more areas refer to it. Making one counts as no area yet: the memory that
    takes it calls :meth:`hold`. Raises BadFile for a pipe, a device or a file not open for reading."""

    __slots__ = ("file", "_files")

    def __init__(self, files: FileTable, file: File) -> None:
        if not isinstance(file, InodeFile):
            raise BadFile("only a file of the file system can be mapped")
        if not file.readable:
            raise BadFile("not open for reading, so it cannot be mapped")
        self.file = file
        self._files = files

    def read_at(self, offset: int, count: int) -> Data:
        """Up to ``count`` bytes of the file from ``offset``; fewer at its end."""
        return self.file.inode.readi(offset, count)

    def hold(self) -> None:
        """One more area refers to the file."""
        self._files.dup(self.file)

    def drop(self) -> None:
        """One area fewer refers to the file."""
        self._files.close(self.file)
