# shellcheck shell=bash
# Shared by the scripts beside it: find Python and Java, and keep .venv in step with a lock file.
# Sourced, never run. Works with the bash 3.2 of macOS.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
VENV=$ROOT/.venv

say() { printf '[%3ds] %s\n' "$SECONDS" "$*"; }

die() {
    printf 'error: %s\n' "$*" >&2
    exit 1
}

is_python_311() { "$1" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }

find_python() {
    local name
    for name in python3 python3.14 python3.13 python3.12 python3.11 python; do
        if is_python_311 "$name"; then
            command -v "$name"
            return
        fi
    done
    die "no Python 3.11 or newer with the venv module was found. Install python3.11 (Debian: also python3.11-venv) and run this again."
}

# The files of .venv, one per line, without those that Python and this script write later.
files_of_venv() { (cd "$VENV" && find . -type f ! -name '*.pyc' ! -name '.*.stamp' | LC_ALL=C sort); }

# Is everything still there that was installed? pip would not miss it: it looks at the names of packages only.
is_whole() {
    if [ ! -f "$VENV/.files.stamp" ]; then return; fi
    [ -z "$(files_of_venv | LC_ALL=C comm -23 "$VENV/.files.stamp" -)" ]
}

# A .venv whose making was interrupted, that was moved or copied here with its clone, or that lacks files is made anew.
make_venv() {
    if is_python_311 "$VENV/bin/python" && [ "$(cat "$VENV/.place.stamp" 2>/dev/null)" = "$VENV" ] && is_whole; then return; fi
    local python
    python=$(find_python)
    say "creating .venv with $("$python" --version)"
    rm -rf "$VENV"
    "$python" -m venv "$VENV"
    printf '%s\n' "$VENV" >"$VENV/.place.stamp"
}

# one_at_a_time COMMAND...: two runs in one clone do not install into the same .venv at once. By a directory, because macOS
# has no flock; that of a run which was killed is taken over.
one_at_a_time() {
    local lock=$ROOT/.venv.lock holder waited=0
    until mkdir "$lock" 2>/dev/null; do
        holder=$(cat "$lock/pid" 2>/dev/null || true)
        if [ $waited -eq 0 ]; then say "waiting for another run that sets up .venv"; fi
        if { [ -n "$holder" ] && ! kill -0 "$holder" 2>/dev/null; } || { [ -z "$holder" ] && [ $waited -gt 5 ]; }; then
            rm -rf "$lock"
        fi
        waited=$((waited + 1))
        sleep 1
    done
    echo $$ >"$lock/pid"
    trap 'rm -rf "$ROOT/.venv.lock"' EXIT
    "$@"
    rm -rf "$lock"
    trap - EXIT
}

# One line that changes whenever what is installed from the given files would change.
fingerprint() { cat "$@" | cksum; }

# once NAME FILE... -- COMMAND...: runs the command unless it succeeded before with the same files.
once() {
    local stamp=$VENV/.$1.stamp files=() now
    shift
    while [ "$1" != -- ]; do files+=("$1"); shift; done
    shift
    now=$(fingerprint "${files[@]}")
    if [ "$(cat "$stamp" 2>/dev/null)" = "$now" ]; then return; fi
    "$@"
    files_of_venv >"$VENV/.files.stamp"
    printf '%s\n' "$now" >"$stamp"
}

pip_install() {
    local pip=("$VENV/bin/python" -m pip install --disable-pip-version-check --retries 5)
    if [ -t 1 ] && [ "${CI:-}" != true ]; then
        "${pip[@]}" "$@"
    else
        # Progress bars are for people; elsewhere a plain line for what takes time.
        "${pip[@]}" --progress-bar off "$@" |
            awk '/^ *(Downloading|Building wheel|Installing collected)/ { print substr("  " $0, 1, 100); fflush() }'
    fi
}

install_locked() {
    say "installing the packages locked in scripts/$1"
    # Without build isolation nothing is fetched that the lock file does not name and hash.
    pip_install --require-hashes --no-build-isolation -r "$ROOT/scripts/$1" ||
        die "the packages of scripts/$1 could not be installed. Check the network, and what pip says above."
}

install_project() {
    say "installing membership-client itself, editable"
    pip_install --no-deps --no-build-isolation --editable "$ROOT"
}

set_up_demo() { one_at_a_time install_demo; }

set_up_test() { one_at_a_time install_test; }

# Called by scripts/provide.py, when the first test needs Spark or a program of its packages.
set_up_spark() { once spark "$ROOT/scripts/requirements-spark.txt" -- install_locked requirements-spark.txt; }

# What scripts/docs needs beside the packages of tests.
set_up_docs() { once docs "$ROOT/scripts/requirements-docs.txt" -- install_locked requirements-docs.txt; }

install_demo() {
    make_venv
    once demo "$ROOT/scripts/requirements-demo.txt" -- install_locked requirements-demo.txt
    once project "$ROOT/pyproject.toml" -- install_project
}

install_test() {
    install_demo
    once test "$ROOT/scripts/requirements-test.txt" -- install_locked requirements-test.txt
}
