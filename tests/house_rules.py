"""The house rules that a program can check, and what they know about the house.

A rule is a function from one module, and the house it stands in, to complaints.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

FLOOR_OF = {
    **dict.fromkeys(["", "riscv", "memlayout", "param", "abi", "errors", "events", "policy"], 0),
    **dict.fromkeys(["personality", "dice"], 0),
    **dict.fromkeys(["mem", "machine", "fs", "sched", "evict", "kv"], 1),
    **dict.fromkeys(["proc", "serve"], 2),
    "trap": 3,
    "kernel": 4,
    **dict.fromkeys(["observe", "grade", "lab", "model"], 5),
    **dict.fromkeys(
        ["cli", "run_command", "run_setup", "session", "abi_command", "bench", "terminal", "__main__"], 6
    ),
    "kv_command": 6,
}
"""The floor of each room: the first part of a module's name below the package, "" being the package."""

NOWHERE = 99
"""The floor of a room that FLOOR_OF does not know: nothing may import it."""

NEIGHBOURS = {
    0: "words explain each other: the layout is made of pages",
    6: "the door is one room in several files",
}
"""Floors whose rooms may see each other, and why. On all other floors they may not."""

SHORTEST, LONGEST, LONGEST_FUNCTION = 40, 250, 40

SHORT_FILES = {
    "memlayout.py": "a handful of addresses",
    "grade/checks/catalogue.py": "every check by its name, gathered from the files beside it",
    "grade/new_command.py": "copies three files",
    "grade/checks/check.py": "the shape of a check, which its families share",
    "dice.py": "one die, which two families of policies throw",
    **dict.fromkeys(
        [f"sched/{name}.py" for name in ("ageing", "fcfs", "prediction", "round_robin", "sjf")]
        + [f"evict/{name}.py" for name in ("fifo", "lru", "second_chance")],
        "a policy is as long as its idea",
    ),
    "lab/processes/samples.py": "several times of one thing, and how to take them",
    "lab/progress.py": "a bar, and when it appears",
    "mem/builtin.py": "five functions by their names, and the one that fits nowhere else",
    "proc/counters.py": "one pattern, and why it is looked for",
    "model/progress.py": "two ways to say that something takes time",
    "model/ready.py": "an entry point, apart because it must not import the command line",
    "proc/clock.py": "one number that everything else agrees on",
    "trap/descriptors.py": "two look-ups that every file call begins with",
    "trap/handler.py": "the type of a system call, which its families share",
    "trap/pipeframes.py": "the one thing in which a pipe meets physical memory",
    "__main__.py": "`python -m nexemu`",
}
"""Modules below SHORTEST lines, and why. A package's ``__init__`` may always be short."""

CLOCKS_AND_DICE = {"time", "datetime", "random", "secrets", "uuid"}
MUTABLE_CALLS = {"list", "dict", "set", "bytearray", "defaultdict", "deque", "Counter", "array"}
MUTABLE_DISPLAYS = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)
CONSTANT_TYPES = ("Final", "ClassVar[Final", "ClassVar[Mapping", "Mapping", "Sequence", "frozenset")
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Module:
    """One file of the package; ``path`` is relative to it."""

    path: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @property
    def room(self) -> str:
        first = self.path.partition("/")[0]
        return "" if first == "__init__.py" else first.removesuffix(".py")

    @property
    def floor(self) -> int:
        return FLOOR_OF.get(self.room, NOWHERE)


@dataclass(frozen=True)
class House:
    """All modules, and the names of the methods that some class documents."""

    modules: tuple[Module, ...]
    documented_methods: frozenset[str]


def house_of(*modules: Module) -> House:
    documented = {
        function.name
        for module in modules
        for owner, function in functions(module.tree)
        if owner is not None and ast.get_docstring(function)
    }
    return House(modules, frozenset(documented))


def functions(
    tree: ast.AST, owner: ast.ClassDef | None = None
) -> Iterator[tuple[ast.ClassDef | None, Function]]:
    """Every function that is not inside another one, with its class."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, FUNCTIONS):
            yield owner, node
        elif isinstance(node, ast.ClassDef):
            yield from functions(node, node)


def imported(tree: ast.AST) -> Iterator[str]:
    """Every module that is imported, as a dotted name; of ``from a import b`` it is ``a.b``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{'.' * node.level}{node.module or ''}.{alias.name}" for alias in node.names)


# ---- the rules --------------------------------------------------------------------------------


def every_room_has_a_floor(module: Module, house: House) -> Iterator[str]:
    if module.room not in FLOOR_OF:
        yield f"{module.path}: say in FLOOR_OF on which floor {module.room} stands"


def imports_lead_down(module: Module, house: House) -> Iterator[str]:
    for name in imported(module.tree):
        top, _, below = name.partition(".")
        room = below.partition(".")[0]
        if top != "nexemu" or room == module.room:
            continue
        if room.startswith("__") and room != "__main__":
            room = ""  # __version__ and the like belong to the package itself
        floor = FLOOR_OF.get(room, NOWHERE)
        if floor > module.floor:
            yield f"{module.path}: floor {module.floor} imports {name} from floor {floor}"
        elif floor == module.floor and floor not in NEIGHBOURS:
            yield f"{module.path}: {module.room} imports {name} from the same floor"


def imports_are_whole_and_absolute(module: Module, house: House) -> Iterator[str]:
    for name in imported(module.tree):
        if name.endswith(".*") or name.startswith("."):
            yield f"{module.path}: imports {name}"


def imports_stand_at_the_top(module: Module, house: House) -> Iterator[str]:
    for node in ast.walk(module.tree):
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            for name in imported(node):
                yield f"{module.path}: {node.name} imports {name}"


def no_import_is_for_types_only(module: Module, house: House) -> Iterator[str]:
    for node in ast.walk(module.tree):
        names = {getattr(node, "id", ""), getattr(node, "attr", ""), getattr(node, "name", "")}
        if "TYPE_CHECKING" in names:
            yield f"{module.path}: TYPE_CHECKING"


def only_the_machine_knows_unicorn(module: Module, house: House) -> Iterator[str]:
    if module.room != "machine" and any(
        name.partition(".")[0] == "unicorn" for name in imported(module.tree)
    ):
        yield f"{module.path}: imports unicorn"


def below_floor_5_nothing_depends_on_the_host(module: Module, house: House) -> Iterator[str]:
    if module.floor >= 5:
        return
    for name in imported(module.tree):
        if name.partition(".")[0] in CLOCKS_AND_DICE:
            yield f"{module.path}: imports {name}"
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
            yield f"{module.path}: prints in line {node.lineno}"


def files_are_neither_long_nor_scraps(module: Module, house: House) -> Iterator[str]:
    lines = len(module.text.splitlines())
    if lines > LONGEST:
        yield f"{module.path}: {lines} lines"
    if lines < SHORTEST and module.path not in SHORT_FILES and not module.path.endswith("__init__.py"):
        yield f"{module.path}: only {lines} lines: join it with its subject, or say why in SHORT_FILES"


def functions_are_short(module: Module, house: House) -> Iterator[str]:
    for node in ast.walk(module.tree):
        if isinstance(node, FUNCTIONS):
            lines = (node.end_lineno or 0) - node.lineno + 1
            if ast.get_docstring(node):
                lines -= (node.body[0].end_lineno or 0) - node.body[0].lineno + 1
            if lines > LONGEST_FUNCTION:
                yield f"{module.path}: {node.name} has {lines} lines"


def modules_hold_no_state(module: Module, house: House) -> Iterator[str]:
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Global):
            yield f"{module.path}: global {', '.join(node.names)}"
        if isinstance(node, (ast.Module, ast.ClassDef)):
            for statement in node.body:
                if is_mutable_assignment(statement):
                    yield f"{module.path}: line {statement.lineno} is mutable and neither Final nor a Mapping"


def is_mutable_assignment(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.AnnAssign):
        if ast.unparse(statement.annotation).startswith(CONSTANT_TYPES):
            return False
    elif not isinstance(statement, ast.Assign):
        return False
    value = statement.value
    if isinstance(value, ast.Call):
        return ast.unparse(value.func).rpartition(".")[2] in MUTABLE_CALLS
    return isinstance(value, MUTABLE_DISPLAYS)


def modules_and_functions_say_what_they_are(module: Module, house: House) -> Iterator[str]:
    """A function of one statement is its own contract; so is a method that a protocol or a parent
    documents under the same name."""
    if not ast.get_docstring(module.tree):
        yield f"{module.path}: the module has no docstring"
    for owner, function in functions(module.tree):
        inherited = owner is not None and function.name in house.documented_methods
        private = function.name.startswith("_") or (owner is not None and owner.name.startswith("_"))
        if not (private or inherited or len(function.body) == 1 or ast.get_docstring(function)):
            yield f"{module.path}: {function.name} has no docstring"


RULES = [
    every_room_has_a_floor,
    imports_lead_down,
    imports_are_whole_and_absolute,
    imports_stand_at_the_top,
    no_import_is_for_types_only,
    only_the_machine_knows_unicorn,
    below_floor_5_nothing_depends_on_the_host,
    files_are_neither_long_nor_scraps,
    functions_are_short,
    modules_hold_no_state,
    modules_and_functions_say_what_they_are,
]
