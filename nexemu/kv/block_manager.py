"""Sequences in blocks of n tokens: PagedAttention's page tables, with copy-on-write and a prefix cache.

Owns one :class:`BlockTable` for each sequence, the pool of blocks on the device and the pool on the
host to which sequences are swapped. A sequence is in exactly one of them. Each entry of a table holds
one reference; a block is written only while it has one holder.

Every call that raises OutOfMemory has changed nothing.

xv6: kernel/vm.c: uvmalloc, uvmcopy, uvmfree
"""

from collections.abc import Callable, Sequence
from itertools import chain

from nexemu.errors import OutOfMemory, panic
from nexemu.kv.block_table import BlockTable, Copy, Place, nth_block
from nexemu.kv.pool import BlockPool
from nexemu.kv.prefix_index import Content, PrefixIndex


class BlockManager:
    """``total`` blocks of ``block_tokens`` tokens on the device and ``host_blocks`` on the host.

    ``watermark``: blocks that admission leaves free, so that running sequences can grow.
    ``prefix_caching``: whether prompts may share the blocks of others, running or freed.
    ``on_copy``: called when a shared block is about to be written, with what must be copied.
    """

    def __init__(
        self,
        total: int,
        block_tokens: int,
        *,
        host_blocks: int = 0,
        watermark: int = 0,
        prefix_caching: bool = True,
        on_copy: Callable[[Copy], None] | None = None,
    ) -> None:
        self.block_tokens = block_tokens
        self.watermark = watermark
        self.prefix_caching = prefix_caching
        self.pool = BlockPool(total)
        self.host = BlockPool(host_blocks)
        self.index = PrefixIndex()
        self._on_copy = on_copy
        self._tables: dict[int, BlockTable] = {}
        self._swapped: dict[int, BlockTable] = {}
        self._balloon: list[int] = []

    # ---- asking -----------------------------------------------------------------------------------

    def table(self, sequence: int) -> Sequence[int]:
        """The physical blocks of a sequence on the device, in logical order."""
        return self._table(sequence).blocks

    def tokens(self, sequence: int) -> Sequence[int]:
        """The tokens of a sequence on the device."""
        return self._table(sequence).tokens

    def translate(self, sequence: int, position: int) -> Place:
        """Where the token at ``position`` of a sequence on the device is."""
        return self._table(sequence).translate(position)

    def blocks_for(self, tokens: int) -> int:
        """How many blocks ``tokens`` tokens fill or begin."""
        return -(-tokens // self.block_tokens)

    def cached_prefix(self, tokens: Sequence[int], namespace: str = "") -> int:
        """How many of these tokens a prompt of them would find."""
        return len(self._hits(tokens, namespace)) * self.block_tokens

    def can_allocate(self, tokens: Sequence[int], namespace: str = "") -> bool:
        """Whether :meth:`allocate` would succeed and leave the watermark."""
        needed = self._blocks_taken(len(tokens), self._hits(tokens, namespace))
        return needed + self.watermark <= self.pool.free_blocks

    def can_swap_in(self, sequence: int, growth: int = 0) -> bool:
        """Whether :meth:`swap_in`, and appending ``growth`` tokens, would succeed and leave the watermark."""
        needed = self.blocks_for(len(self._swapped[sequence].tokens) + growth)
        return needed + self.watermark <= self.pool.free_blocks

    @property
    def cached_blocks(self) -> int:
        """How many free blocks hold what a prompt may ask for again."""
        return sum(self.pool.refs[block] == 0 for block in self.index.known_blocks())

    @property
    def empty_slots(self) -> int:
        """Internal fragmentation: token slots in held blocks of the device that hold no token."""
        tables = [table for table in self._tables.values() if table.blocks]
        last_blocks = {table.blocks[-1]: -len(table.tokens) % self.block_tokens for table in tables}
        return sum(last_blocks.values())

    # ---- the life of a sequence -------------------------------------------------------------------

    def allocate(self, sequence: int, tokens: Sequence[int], namespace: str = "") -> int:
        """Begin a sequence with a prompt. The result is how many tokens, from the first on, need not be
        computed: they are in blocks that held them already. It is never all of them, because the last
        one is what the next token is predicted from. The others are known from now on to whoever asks,
        so they have to be computed before anything else. Namespaces share nothing. Raises OutOfMemory."""
        self._must_be_new(sequence)
        hits = self._hits(tokens, namespace)
        if self._blocks_taken(len(tokens), hits) > self.pool.free_blocks:
            raise OutOfMemory(f"allocate: no blocks for {len(tokens)} tokens")
        # Hits first: taking a fresh block must not reuse one that is about to be shared.
        blocks = [self.pool.hold(self.index.block(content)) for content in hits]
        blocks += [self._take() for _ in range(self.blocks_for(len(tokens)) - len(hits))]
        table = BlockTable(self.block_tokens, list(tokens), blocks, self.index.root(namespace))
        table.content = hits[-1] if hits else table.root
        self._tables[sequence] = table
        self._remember(table, len(hits))
        return len(hits) * self.block_tokens

    def append(self, sequence: int, token: int) -> int:
        """Add a token to a sequence; the block into which it goes. Raises OutOfMemory."""
        table = self._table(sequence)
        tokens, blocks = table.tokens, table.blocks
        slot = len(tokens) % self.block_tokens
        if slot == 0:
            blocks.append(self._take())
        elif self.pool.refs[blocks[-1]] > 1:
            blocks[-1] = self._unshare(blocks[-1])
        tokens.append(token)
        if slot == self.block_tokens - 1:
            self._remember(table, len(blocks) - 1)
        return blocks[-1]

    def fork(self, parent: int, child: int) -> None:
        """Begin ``child`` with all that ``parent`` has; no block is copied until one of them writes."""
        self._must_be_new(child)
        table = self._table(parent)
        for block in table.blocks:
            self.pool.incref(block)
        self._tables[child] = table.copy()

    def free(self, sequence: int) -> None:
        """End a sequence, wherever it is."""
        if sequence in self._swapped:
            self._swapped.pop(sequence).release(self.host)
        else:
            self._table(sequence).release(self.pool)
            del self._tables[sequence]

    # ---- swapping ---------------------------------------------------------------------------------

    def swap_out(self, sequence: int) -> list[Copy]:
        """Move a sequence to the host. What it shares is copied too: each sequence comes back alone.
        The result is what to copy from the device to the host. Raises OutOfMemory."""
        moved = self._table(sequence).move(self.pool, self.host)
        self._swapped[sequence] = self._tables.pop(sequence)
        return moved

    def swap_in(self, sequence: int) -> list[Copy]:
        """Move a sequence back; the result is what to copy from the host. Raises OutOfMemory."""
        if sequence not in self._swapped:
            panic(f"swap_in: sequence {sequence} is not on the host")
        table = self._swapped[sequence]
        moved = table.move(self.host, self.pool)
        for copy in moved:
            self.index.forget(copy.target)
        self._tables[sequence] = self._swapped.pop(sequence)
        table.content = table.root
        self._remember(table, 0)
        return moved

    # ---- the balloon ------------------------------------------------------------------------------

    def inflate(self, count: int) -> int:
        """Let the balloon take ``count`` free blocks, or all there are, for somebody else to use their
        memory; the result is how many it took."""
        taken = [self._take() for _ in range(min(count, self.pool.free_blocks))]
        self._balloon += taken
        return len(taken)

    def deflate(self, count: int) -> int:
        """Let the balloon give back ``count`` blocks, or all it has; the result is how many it gave."""
        given = min(count, len(self._balloon))
        for _ in range(given):
            self.pool.kfree(self._balloon.pop())
        return given

    # ---- checking ---------------------------------------------------------------------------------

    def audit(self) -> None:
        """Panic unless every block is free or held, as often as tables name it, on both sides, and
        what is said of a block's content is so."""
        tables = chain.from_iterable(table.blocks for table in self._tables.values())
        self.pool.audit([*self._balloon, *tables])
        self.host.audit(chain.from_iterable(table.blocks for table in self._swapped.values()))
        self.index.audit()
        for sequence, table in [*self._tables.items(), *self._swapped.items()]:
            if len(table.blocks) != self.blocks_for(len(table.tokens)):
                panic(f"audit: sequence {sequence} has {len(table.blocks)} blocks")
        for sequence, table in self._tables.items():
            for number, block in enumerate(table.blocks):
                known = self.index.tokens_in(block)
                if known is not None and list(known) != table.tokens_of(number):
                    panic(f"audit: block {block} of sequence {sequence} holds something else")

    # ---- how --------------------------------------------------------------------------------------

    def _table(self, sequence: int) -> BlockTable:
        if sequence not in self._tables:
            panic(f"block manager: sequence {sequence} is not on the device")
        return self._tables[sequence]

    def _must_be_new(self, sequence: int) -> None:
        if sequence in self._tables or sequence in self._swapped:
            panic(f"block manager: there is a sequence {sequence} already")

    def _hits(self, tokens: Sequence[int], namespace: str) -> list[Content]:
        """The contents of the full blocks at the start of ``tokens`` that some block holds. The last
        token is left out."""
        hits: list[Content] = []
        content = self.index.root(namespace)
        for number in range((len(tokens) - 1) // self.block_tokens if self.prefix_caching else 0):
            found = self.index.find(content, nth_block(tokens, number, self.block_tokens))
            if found is None:
                break
            hits.append(found)
            content = found
        return hits

    def _blocks_taken(self, tokens: int, hits: Sequence[Content]) -> int:
        """How many free blocks a prompt takes: fresh ones, and hits that nobody holds."""
        refs = self.pool.refs
        revived = sum(refs[self.index.block(content)] == 0 for content in hits)
        return self.blocks_for(tokens) - len(hits) + revived

    def _take(self) -> int:
        block = self.pool.kalloc()
        self.index.forget(block)
        return block

    def _unshare(self, block: int) -> int:
        copy = self.pool.unshare(block)
        self.index.forget(copy)
        if self._on_copy is not None:
            self._on_copy(Copy(block, copy))
        return copy

    def _remember(self, table: BlockTable, first: int) -> None:
        """Note what the full blocks of ``table`` from number ``first`` on hold."""
        if self.prefix_caching:
            for number in range(first, len(table.tokens) // self.block_tokens):
                tokens = table.tokens_of(number)
                table.content = self.index.add(table.blocks[number], table.content, tokens)
