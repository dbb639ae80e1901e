"""The privileged specification's address translation, written down literally, as an oracle.

The RISC-V Instruction Set Manual, Volume II, "Virtual Address Translation Process" for Sv39, with
hardware that sets A and D (Svadu), in user mode. It reads the bytes of RAM and nothing else.
"""

R, W, X = 1, 2, 3
BIT_OF = {"READ": R, "WRITE": W, "FETCH": X}


def bit(word, number):
    return word >> number & 1


def translate(ram, root, va, access):
    """The physical address of ``va``, or None for a page fault. ``access``: READ, WRITE or FETCH."""
    if va >> 38 not in (0, (1 << 26) - 1):
        return None  # bits 63 to 39 must all equal bit 38
    table = root
    for level in (2, 1, 0):
        vpn = va >> 12 + 9 * level & 0x1FF
        pte = int.from_bytes(ram.read(table + 8 * vpn, 8), "little")
        if not bit(pte, 0) or (not bit(pte, R) and bit(pte, W)) or pte >> 54:
            return None
        if bit(pte, R) or bit(pte, X):
            return leaf(pte, level, va, access)
        if pte & 0b1101_0000:  # D, A and U are reserved in a pointer to the next level
            return None
        table = (pte >> 10) << 12
    return None


def leaf(pte, level, va, access):
    if not bit(pte, BIT_OF[access]) or not bit(pte, 4):
        return None
    ppn = pte >> 10
    if ppn & (1 << 9 * level) - 1:
        return None  # a misaligned superpage
    offset = va & (1 << 12 + 9 * level) - 1
    return (ppn << 12) + offset
