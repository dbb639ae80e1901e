"""``nexemu run`` from outside: what it prints where, its exit status, and what it makes of bad input."""

import json
import os
import select
import signal
import subprocess
import sys
import time

import pytest
from support import ROOT

pytestmark = pytest.mark.usefixtures("guests")


@pytest.fixture
def environment(tmp_path):
    """No model in reach, so that RAM and files are the package's own."""
    kept = {name: value for name, value in os.environ.items() if not name.endswith("_ALLOC")}
    return kept | {"NEXEMU_CACHE": str(tmp_path / "cache"), "PYTHONPATH": str(ROOT), "COLUMNS": "100"}


@pytest.fixture
def nexemu(environment):
    def call(*words, stdin=b"", **more):
        return subprocess.run(
            [sys.executable, "-m", "nexemu", *words],
            input=stdin,
            capture_output=True,
            env=environment | more,
            timeout=60,
            check=False,
        )

    return call


def lines(data):
    return data.decode().splitlines()


# ---- what goes well ---------------------------------------------------------------------------


def test_a_program_prints_and_nothing_else_is_printed(nexemu):
    done = nexemu("run", "--", "echo", "hello", "-n", "--lazy")
    assert (done.stdout, done.stderr, done.returncode) == (b"hello -n --lazy\n", b"", 0)


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["-c", "exit 7"], 7),
        (["-c", "exit 256"], 0),
        (["-c", "exit -1"], 255),
        (["-c", ""], 0),
        (["--", "grep", "x", "/echo"], 1),
        (["--", "nothing"], 127),
        (["--", "sh", "-c", "exit 300"], 300 & 0xFF),
    ],
)
def test_the_exit_status_is_the_programs(nexemu, words, status):
    done = nexemu("run", *words)
    assert done.returncode == status
    assert b"Traceback" not in done.stderr


def test_what_the_kernel_says_goes_to_standard_error(nexemu):
    done = nexemu("run", "--", "crash")
    assert done.stdout == b"crash: attempting out-of-bounds access..."
    (line,) = lines(done.stderr)
    assert line.startswith("[nexemu] pid 5 crash: killed by load page fault (scause 13)")
    assert done.returncode == 255


def test_the_console_of_xv6_has_a_name_in_the_tree(nexemu):
    done = nexemu("run", "--abi", "xv6", "-c", "ls /console; echo seen > console")
    assert (done.stdout, done.stderr) == (b"/console       dev           0\nseen\n", b"")


def test_a_shell_of_xv6_shows_its_prompt(nexemu):
    done = nexemu("run", "--abi", "xv6", stdin=b"echo a\n")
    assert done.stdout == b"$ a\n$ \n"


def test_commands_come_from_a_pipe_and_the_machine_halts_at_its_end(nexemu):
    done = nexemu("run", stdin=b"echo one\nwc -c\nabc\n")
    assert (done.stdout, done.stderr, done.returncode) == (b"$ one\n$ 4\n$ \n", b"", 0)


def test_commands_come_from_a_file(environment, tmp_path):
    (tmp_path / "commands").write_bytes(b"echo from a file\nexit 3\nnot this\n")
    with (tmp_path / "commands").open("rb") as file:
        done = subprocess.run(
            [sys.executable, "-m", "nexemu", "run"],
            stdin=file,
            capture_output=True,
            env=environment,
            timeout=60,
            check=False,
        )
    assert (done.stdout, done.returncode) == (b"$ from a file\n$ ", 3)


def test_output_is_the_guests_byte_for_byte(nexemu, tmp_path):
    content = bytes(range(256)) * 20
    (tmp_path / "bytes").write_bytes(content)
    assert nexemu("run", "--image", str(tmp_path), "--", "cat", "/bytes").stdout == content


def test_an_image_adds_files_and_its_names_win(nexemu, tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "file").write_text("inside\n")
    (tmp_path / "echo").write_bytes(b"not a program")
    done = nexemu("run", "--image", str(tmp_path), "-c", "cat /sub/file; echo x")
    assert done.stdout == b"inside\n[sh] exec failed\n"


# ---- switches ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "variables", "lazy", "cow"),
    [
        ([], {}, True, True),
        (["--no-lazy"], {}, False, True),
        (["--no-cow"], {}, True, False),
        ([], {"LAZY_ALLOC": "0", "COW_ALLOC": "0"}, False, False),
        ([], {"LAZY_ALLOC": "1", "COW_ALLOC": "0"}, True, False),
        (["--lazy"], {"LAZY_ALLOC": "0"}, True, True),
        ([], {"LAZY_ALLOC": "", "COW_ALLOC": ""}, True, True),
    ],
)
def test_switches_by_option_and_by_environment(nexemu, words, variables, lazy, cow):
    done = nexemu("run", *words, "-c", "lazydemo 10 5; cowdemo 10 5", **variables)
    assert (b"LAZY_STYLE" in done.stdout, b"EAGER_STYLE" in done.stdout) == (lazy, not lazy)
    assert (b"COW_STYLE" in done.stdout, b"COPY_STYLE" in done.stdout) == (cow, not cow)
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("size", "frames"), [("8M", 1792), ("2048k", 256), ("4194304", 768), ("1310720", 64)]
)
def test_mem_sets_ram(nexemu, size, frames):
    done = nexemu("run", "--mem", size, "--", "free")
    assert done.returncode == 0
    assert lines(done.stdout)[1].split() == ["total", str(frames), str(4 * frames)]


def test_ram_is_128_mib_by_default(nexemu):
    assert lines(nexemu("run", "--", "free").stdout)[1].split()[1] == str(32768 - 256)


def test_stats_go_to_standard_error_behind_the_guests_output(nexemu):
    done = nexemu("run", "--stats", "--", "lazydemo", "100", "30")
    assert done.stdout == nexemu("run", "--", "lazydemo", "100", "30").stdout
    assert b"lazy" in done.stderr
    assert b"sbrk" in done.stderr


def test_an_audited_run_prints_the_same(nexemu):
    done = nexemu("run", "--audit", "-c", "echo a | cat; cowdemo 20 5")
    assert done.returncode == 0
    assert done.stdout == nexemu("run", "-c", "echo a | cat; cowdemo 20 5").stdout


def test_help_and_version(nexemu):
    assert nexemu("--version").stdout.startswith(b"nexemu ")
    text = nexemu("run", "--help").stdout.decode()
    for option in ("--lazy", "--no-cow", "--mem", "--image", "--stats", "--trace", "Ctrl-A X"):
        assert option in text


# ---- traces and determinism ---------------------------------------------------------------------

BUSY = "lazydemo; cowdemo; ls | grep e | wc; sleep 2 & memhog 50; forktest; crash; mmaptest > /out; wc /out"


@pytest.mark.parametrize(
    "variables", [{}, {"LAZY_ALLOC": "0", "COW_ALLOC": "0"}], ids=["lazy,cow", "eager,copy"]
)
def test_the_same_run_twice_gives_the_same_trace_and_output(nexemu, tmp_path, variables):
    runs = []
    for number in range(2):
        trace = tmp_path / f"trace{number}"
        seed = {"PYTHONHASHSEED": str(number)}  # nothing may depend on the order of sets
        done = nexemu("run", "--mem", "32M", "--trace", str(trace), "-c", BUSY, **variables, **seed)
        runs.append((trace.read_bytes(), done.stdout, done.stderr, done.returncode))
    assert runs[0] == runs[1]
    assert len(runs[0][0].splitlines()) > 200


def test_a_trace_is_one_event_a_line_and_watching_changes_nothing(nexemu, tmp_path):
    done = nexemu("run", "--trace", str(tmp_path / "trace"), "-c", BUSY)
    events = [json.loads(line) for line in (tmp_path / "trace").read_text().splitlines()]
    assert all(isinstance(event, dict) for event in events)
    assert done.stdout == nexemu("run", "-c", BUSY).stdout


def test_a_trace_survives_a_killed_program(nexemu, tmp_path):
    nexemu("run", "--trace", str(tmp_path / "trace"), "--", "crash")
    assert (
        "0xdeadbeef" in (tmp_path / "trace").read_text().lower()
        or str(0xDEADBEEF) in (tmp_path / "trace").read_text()
    )


# ---- what the operator gets wrong ---------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        ["--mem", "12Q"],
        ["--mem", ""],
        ["--mem", "-8M"],
        ["--mem", "1.5G"],
        ["--mem", "0"],
        ["--mem", "1M"],
        ["--mem", "5000001"],
        ["--mem", "9999999G"],
        ["--mem", "99999999999999999999G"],
        ["--image", "/nothing/here"],
        ["--image", "/etc/hostname"],
        ["--trace", "/"],
        ["--trace", "/nothing/here/trace"],
        ["--abi", "linux"],
        ["--sched", "nobody"],
        ["--sched", "sjf"],
        ["--evict", "lru"],
        ["--swap", "8M", "--evict", "opt"],
        ["--swap", "much"],
        ["--swap", "4095"],
        ["--swap", "65G"],
        ["--swap", "999999G"],
        ["-c", "x", "--", "y"],
        ["--", "echo", "x" * 200],
        ["--", *["echo"] * 40],
        ["-c", "x" * 5000],
    ],
    ids=lambda words: " ".join(words)[:30],
)
def test_a_bad_value_is_one_line_and_status_2(nexemu, words):
    done = nexemu("run", *words, *([] if words[0] in ("-c", "--") else ["--", "echo"]))
    assert done.returncode == 2
    assert len(lines(done.stderr)) == 1, done.stderr.decode()
    assert lines(done.stderr)[0].startswith("nexemu: ")
    assert done.stdout == b""


def test_a_line_is_not_given_to_a_shell_that_would_ignore_it(nexemu, tmp_path):
    (tmp_path / "sh").write_bytes(b"another kernel's")
    done = nexemu("run", "--image", str(tmp_path), "-c", "echo x")
    assert (done.returncode, done.stdout) == (2, b"")
    (line,) = lines(done.stderr)
    assert line.startswith(f"nexemu: --shell-command: {tmp_path} has a sh of its own")
    assert nexemu("run", "--image", str(tmp_path), "--", "echo", "x").stdout == b"x\n"


@pytest.mark.parametrize(
    "words",
    [
        ["run", "--bogus"],
        ["run", "--mem"],
        ["run", "-c"],
        ["run", "--quantum", "0"],
        ["run", "--quantum", "x"],
        ["run", "--frames", "1"],
        ["nothing"],
        ["--nothing"],
    ],
    ids=" ".join,
)
def test_a_bad_option_is_one_line_and_status_2(nexemu, words):
    done = nexemu(*words)
    assert done.returncode == 2
    assert len(lines(done.stderr)) == 1, done.stderr.decode()
    assert lines(done.stderr)[0].startswith("nexemu: ")


@pytest.mark.parametrize("name", ["LAZY_ALLOC", "COW_ALLOC"])
@pytest.mark.parametrize("value", ["maybe", "2", "-1"])
def test_a_bad_switch_in_the_environment_is_one_line_that_names_it(nexemu, name, value):
    done = nexemu("run", "--", "echo", **{name: value})
    assert done.returncode == 2
    assert len(lines(done.stderr)) == 1, done.stderr.decode()
    assert name in done.stderr.decode()


def test_a_model_that_nobody_knows_is_one_line_and_status_2(nexemu):
    done = nexemu("run", "--", "echo", MODEL="gpt")
    assert (done.returncode, len(lines(done.stderr))) == (2, 1)
    assert done.stderr.startswith(b"nexemu: MODEL=gpt is unknown")


def test_help_offers_only_what_a_running_machine_takes(nexemu):
    said = nexemu("run", "--help").stdout.decode()
    assert "second-chance" in said
    assert "srpt" not in said
    assert "opt," not in said


# ---- a host that does not play along ------------------------------------------------------------


def shell(environment, line):
    """Run ``line`` by the host's shell, where $NEXEMU is the program."""
    return subprocess.run(
        ["bash", "-c", line],
        capture_output=True,
        env=environment | {"NEXEMU": f"{sys.executable} -m nexemu"},
        timeout=60,
        check=False,
    )


def test_closed_standard_input_is_an_empty_one(environment):
    done = shell(environment, "$NEXEMU run <&-")
    assert (done.stdout, done.stderr, done.returncode) == (b"$ \n", b"", 0)
    done = shell(environment, "$NEXEMU run -- echo hi <&-")
    assert (done.stdout, done.stderr, done.returncode) == (b"hi\n", b"", 0)


def test_closed_standard_output_is_no_traceback(environment):
    done = shell(environment, "$NEXEMU run -- ls >&- </dev/null")
    assert b"Traceback" not in done.stderr
    assert b"Error" not in done.stderr.replace(b"nexemu: ", b"")


def test_a_reader_that_goes_away_ends_the_run_quietly(environment):
    done = shell(environment, "$NEXEMU run -c 'ls; ls; ls; ls; cat /sh' </dev/null | head -1")
    assert done.stdout.startswith(b".  ")
    assert b"Traceback" not in done.stderr
    assert b"Exception" not in done.stderr


@pytest.mark.parametrize("words", ["run -- ls", "abi", "lab convoy", "grade --list", "grade --only maps"])
def test_a_full_disk_is_one_line(environment, words):
    done = shell(environment, f"$NEXEMU {words} </dev/null >/dev/full")
    assert done.returncode != 0
    assert len(lines(done.stderr)) == 1, done.stderr.decode()


def test_a_letter_that_the_terminal_lacks_is_shown_as_its_number(environment):
    done = shell(environment | {"PYTHONIOENCODING": "ascii"}, "$NEXEMU lab quiz beam --lang zh")
    assert done.stdout.startswith(b"\\u675f\\u5bbd 4")
    assert done.returncode == 0


@pytest.mark.parametrize("program", [["spin"], []], ids=["a program", "a shell"])
def test_an_interrupt_signal_ends_a_run_that_would_never_end(environment, programs, program):
    """Ctrl-C at a host shell whose standard input is not the terminal."""
    words = ["--", *program] if program else ["-c", "spin"]
    with subprocess.Popen(
        [sys.executable, "-m", "nexemu", "run", "--image", str(programs), *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
    ) as process:
        assert process.stdout.readline() == b"spinning\n"
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=30)
    assert process.returncode == 130
    assert b"Traceback" not in stderr


def test_a_signal_ends_a_run_that_waits_for_the_reader_of_its_output(environment, guests, tmp_path):
    """Nobody reads: the guest's write fills the pipe and stays in it."""
    (tmp_path / "much").write_bytes(bytes(200_000))
    reader, writer = os.pipe()
    with subprocess.Popen(
        [sys.executable, "-m", "nexemu", "run", "--image", str(tmp_path), "--", "cat", "much"],
        stdin=subprocess.DEVNULL,
        stdout=writer,
        stderr=subprocess.PIPE,
        env=environment,
    ) as process:
        while select.select([], [writer], [], 0.05)[1]:
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        try:
            _, stderr = process.communicate(timeout=30)
        finally:
            process.kill()
    os.close(reader)
    os.close(writer)
    assert process.returncode == 128 + signal.SIGTERM
    assert b"Traceback" not in stderr
