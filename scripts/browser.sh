# shellcheck shell=bash
# Sourced by scripts/test: makes sure there is a browser to open reports in, installing one where that is allowed.

browser_is_there() { "$VENV/bin/python" -P "$ROOT/tests/report/chromium.py"; }

# The one command that installs it here, or nothing where we know no package manager.
browser_install_command() {
    if command -v apt-get >/dev/null; then
        echo "apt-get install --yes --no-install-recommends chromium"
    elif command -v dnf >/dev/null; then
        echo "dnf install --assumeyes chromium-headless"
    elif command -v apk >/dev/null; then
        echo "apk add chromium"
    elif command -v brew >/dev/null; then
        echo "brew install --cask google-chrome"
    fi
}

ensure_browser() {
    if browser_is_there; then return; fi
    local command
    command=$(browser_install_command)
    if [ -z "$command" ]; then
        die "The tests open reports in Chromium or Chrome, and none was found. Install one and run scripts/test again."
    elif ! may_install; then
        die "The tests open reports in Chromium or Chrome, and none was found. Type this and run scripts/test again: sudo $command"
    fi
    say "no Chromium or Chrome found, installing one"
    refresh_packages
    install_by "$command"
    browser_is_there || die "The browser was installed but is not found. Put chromium on PATH and run scripts/test again."
}
