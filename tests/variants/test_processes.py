"""Several processes: the same bytes, and an end in good order however it comes."""

from __future__ import annotations

import os
import pty
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.processes import alive, children, waited
from tests.variants.command import arguments, command, contents

SLOW = """\
kernel slow(N = 1, C = 24576) {
    input x: fp16[1, C, 1, 1]
    weight w: fp16[C, C, 1, 1] = 0.5
    output y
    y = conv(x * N, w)
}
"""


def test_the_same_bytes_whatever_the_jobs_and_the_hash_seed(folder: Path) -> None:
    lists = ["-D", "SEQ=32,64,256", "-D", "DIM=8,16"]
    trees, said = [], []
    for seed, jobs in (("0", 1), ("1", 2), ("4711", 3)):
        done = command(folder, "compile", "k.ane", *lists, "-j", jobs, "-o", f"out{jobs}", seed=seed, code=1)
        trees.append(contents(folder / f"out{jobs}"))
        said.append((done.stdout + done.stderr).replace(f"out{jobs}/", ""))
    assert len(trees[0]) > 30
    assert trees[0] == trees[1] == trees[2]
    assert said[0] == said[1] == said[2]


def test_progress_is_one_line_on_a_terminal(folder: Path) -> None:
    ours, theirs = pty.openpty()
    line = arguments(["compile", "k.ane", "lin", "-D", "SEQ=32,64", "-j", "1"])
    done = subprocess.run(line, cwd=folder, stderr=theirs, stdout=subprocess.PIPE, timeout=60, check=True)
    os.close(theirs)
    seen = os.read(ours, 10_000).decode()
    os.close(ours)
    assert seen == "\r\033[K[1/2] lin-SEQ32\r\033[K[2/2] lin-SEQ64\r\033[K"
    assert done.stdout.count(b"\n") == 2


@pytest.mark.parametrize(("kill", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_compile_alone_leaves_nothing_behind_either(folder: Path, kill: int, code: int) -> None:
    (folder / "slow.ane").write_text(SLOW)
    line = arguments(["compile", "slow.ane", "--random", "0", "-o", "out"])
    process = subprocess.Popen(line, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert waited(lambda: bool(list((folder / "out").glob(".slow.tmp-*"))))
    process.send_signal(kill)
    assert process.communicate(timeout=30) == ("", "")
    assert process.returncode == code
    assert os.listdir(folder / "out") == []


@pytest.fixture
def compile_that_takes_long(folder: Path) -> tuple[subprocess.Popen[str], Path]:
    """Two processes in the middle of writing, over an earlier artifact; several more variants wait."""
    (folder / "slow.ane").write_text(SLOW)
    command(folder, "compile", "slow.ane", "-D", "N=1,2", "-D", "C=64", "-j", "1", "-o", "out")
    with (folder / "w.safetensors").open("wb") as file:
        header = b'{"w":{"dtype":"F32","shape":[24576,24576],"data_offsets":[0,2415919104]}}'
        file.write(len(header).to_bytes(8, "little") + header)
        file.truncate(file.tell() + 4 * 24576**2)
    line = arguments(["compile", "slow.ane", "-D", "N=1,2,3,4,5,6,7,8", "-j", "2", "-o", "out", "--weights", "w.safetensors"])
    pipe = subprocess.PIPE
    process = subprocess.Popen(line, cwd=folder, stdout=pipe, stderr=pipe, text=True, start_new_session=True)
    assert waited(lambda: len(list((folder / "out").glob(".slow*.tmp-*"))) == 2), process.communicate(timeout=5)
    return process, folder / "out"


def test_an_interruption_leaves_nothing_behind(compile_that_takes_long: tuple[subprocess.Popen[str], Path]) -> None:
    process, out = compile_that_takes_long
    before = set(os.listdir(out))
    mine = children(process.pid)
    assert len(mine) >= 2
    # As a terminal does: to every process of the group.
    os.killpg(process.pid, signal.SIGINT)
    stdout, stderr = process.communicate(timeout=30)
    assert (process.returncode, stdout, stderr) == (130, "", "")
    assert waited(lambda: not any(map(alive, mine)), 5)
    after = set(os.listdir(out))
    assert after == {name for name in before if not name.startswith(".")}
    assert after >= {"slow-N1", "slow-N2"}


@pytest.mark.parametrize("kill", [signal.SIGKILL, signal.SIGTERM])
@pytest.mark.parametrize("after", [0, 0.4, 1.7])
def test_processes_do_not_outlive_their_parent(
    compile_that_takes_long: tuple[subprocess.Popen[str], Path], kill: int, after: float
) -> None:
    process, out = compile_that_takes_long
    mine = children(process.pid)
    time.sleep(after)
    process.send_signal(kill)
    process.wait(timeout=30)
    assert waited(lambda: not any(map(alive, mine)))
    assert not [name for name in os.listdir(out) if name.startswith(".")]
    assert set(os.listdir(out)) >= {"slow-N1", "slow-N2"}
    said = process.communicate()
    assert process.returncode == (143 if kill == signal.SIGTERM else -9)
    # Python's own tracker of shared resources has a word to say where nobody could clean up.
    assert kill == signal.SIGKILL or said == ("", "")


def test_a_process_that_dies_is_reported(compile_that_takes_long: tuple[subprocess.Popen[str], Path]) -> None:
    process, out = compile_that_takes_long
    writing = sorted(int(path.name.rpartition("-")[2]) for path in out.glob(".slow*.tmp-*"))
    os.kill(writing[0], signal.SIGKILL)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 1
    assert stdout == ""
    assert stderr.startswith("error[ANE0452]: a process ended while it was compiling variants\n")
    assert "Traceback" not in stderr
    assert set(os.listdir(out)) >= {"slow-N1", "slow-N2"}


PEAK = """
import resource, sys
from anedsl.cli import main
sys.argv = ["anedsl", *sys.argv[1:]]
try:
    main()
except SystemExit as end:
    assert not end.code
print(max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)), file=sys.stderr)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss counts kilobytes on Linux only")
def test_memory_does_not_grow_with_the_weights(folder: Path) -> None:
    header = b'{"w":{"dtype":"F32","shape":[8192,8192],"data_offsets":[0,268435456]}}'
    with (folder / "w.safetensors").open("wb") as file:
        file.write(len(header).to_bytes(8, "little") + header)
        file.truncate(file.tell() + (256 << 20))
    peaks = []
    for size, weights in ((16, []), (8192, ["--weights", "w.safetensors"])):
        line = ["compile", "k.ane", "lin", "-D", f"DIM={size}", "-D", "SEQ=32,64", "-j", "2", "--emit", "mil", *weights]
        done = subprocess.run([sys.executable, "-c", PEAK, *line], cwd=folder, capture_output=True, text=True, check=True)
        peaks.append(int(done.stderr.split()[-1]))
        shutil.rmtree(folder / "build")
    assert peaks[1] - peaks[0] < 100 << 10
