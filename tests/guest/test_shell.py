"""The shell: what a line means, what it prints, and its status. The comment of guest/sh.c is its contract."""

import pytest
from support import SWITCH_IDS, SWITCHES


def say(machine, line, **how):
    """What ``sh -c line`` prints, and its status."""
    run = machine.shell(line, **how)
    assert run.log == []
    return run.text, run.status


# ---- lists ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "text", "status"),
    [
        ("echo a b  c", "a b c\n", 0),
        ("echo a; echo b", "a\nb\n", 0),
        ("echo a ; echo b ;", "a\nb\n", 0),
        ("echo a && echo b", "a\nb\n", 0),
        ("nothing && echo b", "[sh] exec failed\n", 127),
        ("nothing || echo b", "[sh] exec failed\nb\n", 0),
        ("echo a || echo b", "a\n", 0),
        ("nothing || nothing || echo c && echo d", "[sh] exec failed\n[sh] exec failed\nc\nd\n", 0),
        ("echo $?; nothing; echo $?; echo $?", "0\n[sh] exec failed\n127\n0\n", 0),
        ("", "", 0),
        ("   ", "", 0),
        ("# nothing here", "", 0),
        ("echo a # b", "a\n", 0),
        ("echo a#b", "a#b\n", 0),
        ("exit 7; echo no", "", 7),
        ("exit -3", "", -3),
        ("nothing; exit", "[sh] exec failed\n", 127),
        ("exit 1 2", "[sh] usage: exit [n]\n", 1),
        ("exit x", "[sh] usage: exit [n]\n", 1),
    ],
)
def test_lists_and_statuses(machine, line, text, status):
    assert say(machine, line) == (text, status)


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("echo 'a  b'", "a  b\n"),
        ('echo "a  b"', "a  b\n"),
        ("echo a' 'b", "a b\n"),
        ("echo 'a;b|c&d<e>f#g$?'", "a;b|c&d<e>f#g$?\n"),
        ('echo "$?"', "0\n"),
        ("echo a\\ b\\;c\\\\", "a b;c\\\n"),
        ('echo "it\'s"', "it's\n"),
        ("echo '\"'", '"\n'),
        ("echo ''", "\n"),
        ("echo '' x", " x\n"),
        ('echo "a\\"b"', 'a"b\n'),
    ],
)
def test_quotes(machine, line, text):
    assert say(machine, line) == (text, 0)


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("echo 'a", "a quote is not closed"),
        ('echo "a', "a quote is not closed"),
        ("echo a |", "a command is missing"),
        ("| echo a", "a command is missing"),
        ("echo a > ", "a file name is missing"),
        ("echo a < | b", "a file name is missing"),
        ("; echo a", "a command is missing"),
        ("echo a &&", "a command is missing"),
        ("echo a;; echo b", "a command is missing"),
        (" | ".join(["echo x"] * 9), "too many pipes"),
        ("echo " + "x " * 31, "too many args"),
    ],
)
def test_nothing_of_a_line_with_a_syntax_error_runs(machine, line, error):
    assert say(machine, f"echo before; {line}" if line[0] not in ";|" else line) == (f"[sh] {error}\n", 2)


# ---- pipes ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("lazy", "cow"), SWITCHES, ids=SWITCH_IDS)
def test_pipes_under_every_setting(machine, lazy, cow):
    line = "cat /lazytest | cat | cat | wc -c; ls / | grep echo | wc -l"
    size = str(len((machine.folders[0] / "lazytest").read_bytes()))
    assert say(machine, line, lazy=lazy, cow=cow) == (f"{size}\n1\n", 0)


@pytest.mark.parametrize(
    ("line", "text", "status"),
    [
        ("echo a b | cat", "a b\n", 0),
        ("echo x | nothing", "[sh] exec failed\n", 127),
        ("nothing | cat", "[sh] exec failed\n", 0),
        ("echo a | grep b", "", 1),
        ("echo a | grep a > /out; cat < /out | wc -c", "2\n", 0),
        (" | ".join(["echo x"] + ["cat"] * 7), "x\n", 0),
    ],
)
def test_pipelines_and_the_status_of_the_last_stage(machine, line, text, status):
    assert say(machine, line) == (text, status)


def test_whoever_writes_to_a_pipe_without_a_reader_is_told(machine):
    """-1 from write(): there are no signals."""
    text, status = say(machine, "cat /sh | echo done")
    assert (sorted(text.splitlines()), status) == (["cat: write error", "done"], 0)


def test_a_pipe_carries_more_than_it_holds(machine, tmp_path):
    (tmp_path / "big").write_bytes(bytes(range(1, 251)) * 400)
    text, status = say(machine, "cat /big | cat > /copy; cat < /copy | wc -c", folders=[tmp_path])
    assert (text, status) == ("100000\n", 0)


# ---- redirection ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("echo a > /f; cat /f", "a\n"),
        ("echo a > /f; echo b >> /f; cat /f", "a\nb\n"),
        ("echo long line > /f; echo s > /f; cat /f", "s\n"),
        ("echo a >> /f; cat < /f", "a\n"),
        ("> /f echo a; < /f cat", "a\n"),
        ("echo a>/f;cat</f", "a\n"),
        ("echo a > /f > /g; cat /f; cat /g", "[sh] cannot open /f\na\n"),
        ("echo nothing > /nodir/f; echo $?", "[sh] cannot open /nodir/f\n1\n"),
        ("cat < /missing; echo $?", "[sh] cannot open /missing\n1\n"),
        ("mkdir /d; cd /d; echo in > f; cat /d/f; cd; cat f", "in\ncat: cannot open f\n"),
    ],
)
def test_redirections(machine, line, text):
    got, _ = say(machine, line)
    if "> /f > /g" in line:
        assert got in (text, "cat: cannot open /f\na\n"), "the last one counts"
    else:
        assert got == text


def test_a_descriptor_of_a_redirection_does_not_stay_open(machine):
    run = machine.shell("; ".join(f"echo {number} > /f{number}" for number in range(20)))
    assert (run.text, run.status) == ("", 0)


# ---- builtins and paths -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("cd /nowhere; echo $?", "[sh] cd failed\n1\n"),
        ("cd /echo; echo $?", "[sh] cd failed\n1\n"),
        ("cd a b; echo $?", "[sh] usage: cd [dir]\n1\n"),
        ("mkdir /a; mkdir /a/b; cd /a; ls b; cd ..; ls /a/b/..", None),
        ("/echo with a path", "with a path\n"),
        ("mkdir /bin; cd /bin; echo found in root", "found in root\n"),
        ("cd / | cat; echo $?", "0\n"),
    ],
)
def test_directories_and_programs(machine, line, text):
    got, _ = say(machine, line)
    if text is not None:
        assert got == text
    else:
        assert "b              dir" in got


def test_help_names_the_builtins(machine):
    text, status = say(machine, "help")
    assert status == 0
    assert len(text.splitlines()) == 2
    assert all(word in text for word in ("cd", "exit", "help"))


def test_the_status_of_a_killed_program_is_minus_one(machine):
    run = machine.shell("crash; echo $?")
    assert run.text == "crash: attempting out-of-bounds access...-1\n"
    assert len(run.log) == 1


def test_an_argument_that_exec_cannot_take_is_said(machine):
    text, status = say(machine, "echo " + "x" * 128)
    assert status == 127
    assert "too long" in text


# ---- background -------------------------------------------------------------------------------


def test_a_background_job_runs_beside_the_shell(machine):
    run = machine.shell("sleep 3 &\nuptime_is_not_a_program; echo at once; sleep 5; echo later")
    assert run.text == "[sh] exec failed\nat once\nlater\n"


def test_background_output_comes_when_it_is_due(machine):
    text, _ = say(machine, "sleep 2 && echo first & sleep 6; echo second")
    assert text.endswith("second\n")


def test_a_background_job_does_not_eat_the_shells_input(machine):
    run = machine.run(typed=b"cat &\necho not eaten\nsleep 1\n")
    assert run.text == "$ $ not eaten\n$ $ \n"


def test_many_background_jobs_are_all_reaped(machine):
    line = "; ".join(["sleep 1 &"] * 6) + "; sleep 3; forktest"
    assert say(machine, line.replace("&;", "&")) == ("forktest: 11 children, all reaped\n", 0)


# ---- lines from standard input ------------------------------------------------------------------


def test_a_shell_on_a_file_reads_its_lines_and_ends_with_the_last_status(machine):
    run = machine.run(typed=b"echo one\necho two; nothing\n")
    assert run.text == "$ one\n$ two\n[sh] exec failed\n$ \n"
    assert run.log == []


def test_a_last_line_without_a_newline_counts(machine):
    assert machine.run(typed=b"echo a\necho b").text == "$ a\n$ b\n$ \n"


def test_exit_leaves_the_rest_unread_and_gives_its_status(machine):
    run = machine.run(typed=b"exit 9\necho no\n")
    assert (run.text, run.status) == ("$ ", 9)


def test_no_input_at_all(machine):
    run = machine.run(typed=b"")
    assert (run.text, run.status) == ("$ \n", 0)


def test_a_program_reads_the_lines_that_follow(machine):
    assert machine.run(typed=b"wc -l\na\nb\n").text == "$ 2\n$ \n"


def test_a_line_of_more_than_a_thousand_bytes_is_refused_whole(machine):
    run = machine.run(typed=b"echo " + b"y" * 1100 + b"\necho after\n")
    assert run.text == "$ [sh] line too long\n$ after\n$ \n"


def test_a_script_file_runs_without_prompts(machine, tmp_path):
    (tmp_path / "script").write_text("echo from a script\nexit 4\n")
    run = machine.run("sh", "-c", "sh < /script", folders=[tmp_path])
    assert (run.text, run.status) == ("from a script\n", 4)


def test_zero_bytes_and_control_bytes_do_no_harm(machine):
    run = machine.run(typed=b"echo a\0b\x01c\n\x02\necho ok\n")
    assert "ok\n" in run.text
