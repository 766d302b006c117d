#!/bin/sh
# Sets up .venv from requirements.lock, or does nothing if it is up to date. `make` calls it before every target.
# PYTHON=… names the interpreter to use; `bootstrap.sh --find` only prints the one that would be used.
set -eu
cd -- "$(dirname -- "$0")/.."

oldest=3.11
newest=3.13 # the newest for which every compiled package in requirements.lock has a wheel

# Prints one word: good, old, new, other (not the usual CPython), bare (no venv) or broken (a shim that fails, or nothing).
judge() {
    "$1" - "$oldest" "$newest" 2>/dev/null <<'PYTHON' || echo broken
import sys

oldest, newest = (tuple(int(part) for part in bound.split(".")) for bound in sys.argv[1:])
if sys.version_info[:2] < oldest:
    print("old")
elif sys.version_info[:2] > newest:
    print("new")
else:
    import platform, sysconfig

    try:
        import ensurepip, venv
    except ImportError:
        print("bare")
    else:
        usual = platform.python_implementation() == "CPython" and not sysconfig.get_config_var("Py_GIL_DISABLED")
        print("good" if usual else "other")
PYTHON
}

identify() {
    "$1" -c 'import sys; print(sys.version.split()[0] + " " + getattr(sys, "base_prefix", ""))' 2>/dev/null
}

refuse() { # verdict, interpreter
    case $1 in
    bare) why="$2 cannot make virtual environments: install its venv package (on Debian or Ubuntu: apt-get install python3-venv)" ;;
    old) why="$2 is Python $(identify "$2" | cut -d' ' -f1), but $oldest to $newest is needed: install one of these" ;;
    new) why="$2 is Python $(identify "$2" | cut -d' ' -f1), for which not all pinned packages have been built: install Python $newest" ;;
    other) why="$2 is not the standard CPython, for which the pinned packages are built: install CPython $newest" ;;
    *) why="$2 does not run: install Python $newest" ;;
    esac
    echo "$why, or name a suitable one: make setup PYTHON=/path/to/python$newest" >&2
    exit 1
}

# Sets $python to the first good interpreter; otherwise refuses the one that came nearest.
find_python() {
    if [ -n "${PYTHON:-}" ]; then
        verdict=$(judge "$PYTHON")
        [ "$verdict" = good ] || refuse "$verdict" "$PYTHON"
        python=$PYTHON
        return
    fi
    verdicts=
    for python in python3.13 python3.12 python3.11 python3 python; do
        verdict=$(judge "$python")
        [ "$verdict" != good ] || return 0
        verdicts="$verdicts $verdict:$python"
    done
    for verdict in bare new other old; do
        for found in $verdicts; do
            [ "${found%%:*}" != "$verdict" ] || refuse "$verdict" "${found#*:}"
        done
    done
    refuse broken python3
}

# pip's output is shown only if it fails.
quietly() {
    "$@" >.venv/setup.log 2>&1 || {
        echo "failed." >&2
        cat .venv/setup.log >&2
        echo "Could not set up .venv; the cause stands above. Calling the same command again starts afresh." >&2
        exit 1
    }
}

# uv takes a fraction of pip's time. Where it fails, say behind a mirror that only pip is told of, pip does the work.
by_uv() {
    awk '/^[^ ]/ { is_uv = /^uv==/ } is_uv' requirements.lock >.venv/uv.lock
    {
        .venv/bin/python -m pip install --disable-pip-version-check --require-hashes -r .venv/uv.lock &&
            .venv/bin/uv pip install --python .venv/bin/python --require-hashes -r requirements.lock
    } >.venv/setup.log 2>&1
}

# Two calls at once: the second waits. The kernel keeps the lock as long as this shell or a pip that outlived it runs.
take_turn() {
    exec 9<>requirements.lock
    "$1" - <<'PYTHON'
import fcntl, sys

try:
    fcntl.flock(9, fcntl.LOCK_EX | fcntl.LOCK_NB)
except BlockingIOError:
    print("Another process is setting up .venv; waiting for it …", file=sys.stderr)
    fcntl.flock(9, fcntl.LOCK_EX)
PYTHON
}

# The stamps are written last, so an interrupted set-up leaves none and is done again. They hold the directory too: an
# editable installation does not survive a move.
locked() {
    [ "$lock_stamp" = "$(cat .venv/lock.stamp 2>/dev/null)" ] &&
        installed=$(identify .venv/bin/python) &&
        { [ -z "${PYTHON:-}" ] || [ "$installed" = "$(identify "$PYTHON")" ]; }
}

ready() {
    locked && [ "$project_stamp" = "$(cat .venv/project.stamp 2>/dev/null)" ]
}

if [ "${1:-}" = --find ]; then
    find_python
    echo "$python"
    exit
fi

lock_stamp=$(pwd | cat - requirements.lock workflow/bootstrap.sh | cksum)
project_stamp=$(cksum <pyproject.toml)
! ready || exit 0
python=.venv/bin/python
if ! locked; then
    find_python
    # An activated .venv is about to be removed: use the interpreter it was made from.
    python=$("$python" -c 'import sys; print(sys._base_executable)')
fi
take_turn "$python"
! ready || exit 0

if ! locked; then
    printf 'Setting up .venv with Python %s (once, up to four minutes) … ' "$(identify "$python" | cut -d' ' -f1)" >&2
    rm -f .venv/*.stamp # first: removing the rest takes a while and may be interrupted
    rm -rf .venv
    mkdir .venv
    quietly "$python" -m venv .venv
    by_uv || quietly .venv/bin/python -m pip install --disable-pip-version-check --require-hashes -r requirements.lock
    echo "$lock_stamp" >.venv/lock.stamp
else
    printf 'Installing rnca in .venv … ' >&2
    rm -f .venv/project.stamp
fi
quietly .venv/bin/python -m pip install --disable-pip-version-check --no-deps --no-build-isolation -e .
echo "$project_stamp" >.venv/project.stamp
echo "done." >&2
