"""Outputs, records and settings that someone has edited: told by name, and gone on from."""

import json
import os
import subprocess

import pytest
from harmed import CONFIG, PATIENCE

pytestmark = pytest.mark.faults

RESULTS = "results/test"


def edit(file):
    """Change a digit, and keep the time: nothing but the content tells."""
    kept = file.stat()
    file.write_bytes(file.read_bytes().replace(b"2", b"3"))
    os.utime(file, ns=(kept.st_atime_ns, kept.st_mtime_ns))


def cut(file):
    kept = file.stat()
    file.write_bytes(file.read_bytes()[: kept.st_size // 2])
    os.utime(file, ns=(kept.st_atime_ns, kept.st_mtime_ns))


def lose_record(file):
    file.with_name(f"{file.name}.json").unlink()


def forge_request(file):
    """Claim that no request was made, of which no file says otherwise."""
    record = file.with_name(f"{file.name}.json")
    found = json.loads(record.read_text()) | {"request": None, "request_file": "none.json"}
    record.write_text(json.dumps(found))


@pytest.mark.parametrize(
    ("harm", "name"),
    [
        (edit, "tables/rcca.md"),
        (lose_record, "rcca/sums.csv"),
        (edit, "rcca/digits/fourier-0.sums.csv"),
        (forge_request, "rcca/digits/fourier-0.sums.csv"),
        (cut, "report.html"),
    ],
)
def test_edited_output(finished, reference, tally, harm, name):
    file = finished.file(f"{RESULTS}/{name}")
    harm(file)
    with tally.trying(f"output, {harm.__name__}"):
        code, screen = finished.call()
        assert code == 1
        assert f"Delete {RESULTS}/{name} and run again to make it anew" in screen
        file.unlink()
        finished.finish(reference)


@pytest.mark.parametrize("text", ['{"run_id": null}', "["])
def test_edited_record_of_the_launcher(finished, reference, tally, text):
    bystander = subprocess.Popen(["sleep", str(PATIENCE)])
    record = finished.file(".snakemake/rnca-launch.json")
    record.write_text(text)
    with tally.trying("launcher's record, edited"):
        code, screen = finished.call()
        assert code == 1
        assert "Traceback" not in screen
        assert bystander.poll() is None
        record.unlink()
        finished.finish(reference)
    bystander.kill()
    bystander.wait()


def test_clock_that_was_wrong(finished, reference, tally):
    for name in ("rcca/sums.csv", "requests/lib/page.json"):
        os.utime(finished.file(f"{RESULTS}/{name}"), (2**32, 2**32))
    with tally.trying("files of the future"):
        code, screen = finished.call()
        assert code == 1
        advice = screen.partition("present time: ")[2]
        subprocess.run(advice, shell=True, check=True, cwd=finished.directory)
        finished.finish(reference)


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/dev/zero"), cut])
def test_mirror_that_is_not_one(project, tally, make):
    file = project.file("mirror/mnist/train-images-idx3-ubyte.gz")
    file.parent.mkdir(parents=True)
    if make is cut:
        file.write_bytes(b"another dataset")
    make(file)
    with tally.trying("mirror, wrong or endless file"):
        command = ["-m", "workflow.data", "fetch", "mnist"]
        process = project.start(*command, RNCA_MIRROR=str(project.file("mirror")))
        screen, _ = process.communicate(timeout=PATIENCE)
        assert process.returncode == 1
        assert f"{file}: " in screen
        assert "Traceback" not in screen


def test_settings_given_twice(finished, reference, tally):
    with tally.trying("settings, a key twice"):
        with finished.edited(CONFIG[1], "seed: 1\n", "seed: 1\nseed: 2\n"):
            code, screen = finished.call()
            assert code == 1
            assert "the key 'seed' is given twice" in screen
        finished.finish(reference)
