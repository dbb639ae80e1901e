"""Processes, pipes and files as programs see them: ABI.md sections 1 and 3, under every setting."""


def test_pipes(machine, switches):
    run = machine.run("pipes", audit=True, **switches)
    assert run.values() == {
        "read_end": 3,
        "write_end": 4,
        "wrong_way_read": -1,
        "wrong_way_write": -1,
        "nothing": 0,
        "fstat": -1,
        "total": 2000,
        "wrong": 0,
        "end": 0,
        "writer": 0,
        "some": 100,
        "broken": 55,
        "closed": -1,
        "closed_again": -1,
        "shared": 500,
        "bad_address": -1,
        "text_address": -1,
        "frames": 0,
    }
    assert run.log == []


def test_two_writers_to_a_full_pipe_let_time_pass(machine, switches):
    """Each that finds no room has changed nothing, so it has nobody to wake: above all not the other one."""
    run = machine.run("twowriters", **switches)
    assert (run.text, run.status) == ("2048 bytes\n", 0)


def test_fork_wait_exit_kill_sleep_and_dup(machine, switches):
    run = machine.run("kinship", audit=True, **switches)
    assert run.values() == {
        "childless": -1,
        "untouched": 77,
        "waited": 0,
        "status": -5,
        "null": 0,
        "argument": 1,
        "bad_status": -1,
        "still_there": 0,
        "good_status": 0,
        "whole": 1,
        "gone": -1,
        "kill": 0,
        "killed": -1,
        "at_once": 1,
        "killed_reader": -1,
        "killed_waiter": -1,
        "kill_0": -1,
        "kill_1": -1,
        "kill_minus": -1,
        "sleep_0": 0,
        "sleep_minus": -1,
        "slept": 5,
        "dup": 5,
        "lowest": 0,
        "dup_bad": -1,
        "dup_minus": -1,
        "full": -1,
        "open_full": -1,
        "pipe_full": -1,
    }
    assert run.log == []


def test_files(machine, switches):
    run = machine.run("files", audit=True, **switches)
    assert run.values() == {
        "created": 3,
        "write": 11,
        "at_end": 0,
        "shared_offset": 1,
        "own_offset": 1,
        "read_only": -1,
        "negative_read": -1,
        "negative_write": -1,
        "write_only": -1,
        "overwrite": 2,
        "bad_target": -1,
        "offset_kept": 1,
        "fstat": 0,
        "type": 2,
        "links": 1,
        "size": 11,
        "truncated": 0,
        "mkdir": 0,
        "mkdir_again": -1,
        "chdir": 0,
        "relative": 1,
        "link": 0,
        "link_dir": -1,
        "unlink_busy": -1,
        "unlink_dot": -1,
        "unlink_g": 0,
        "unlinked": -1,
        "linked": 1,
        "up": 0,
        "unlink_d": 0,
        "open_dir_write": -1,
        "open_missing": -1,
        "console": 1,
        "console_stat": -1,
        "empty_path": 1,
        "long_path": -1,
    }


def test_exec_keeps_pid_descriptors_cwd_and_registers(machine, switches):
    run = machine.run("registers", audit=True, **switches)
    assert run.values() == {"pid": 1, "descriptor": 0, "cwd": 1, "argc": 3, "last": 1, "registers": 1}


def test_an_exec_that_cannot_have_memory_leaves_the_caller_alive(machine, switches):
    """memhog holds nearly all of it; the shell's child cannot become echo, and says so."""
    run = machine.run("memhog", memory=8 << 20, **switches)
    assert run.status == 1
    assert machine.run("echo", "fine", memory=8 << 20, **switches).text == "fine\n"
