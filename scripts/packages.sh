# shellcheck shell=bash
# Sourced by scripts/test: how this user installs packages of the system, if at all.

# How this user becomes one who may install packages: "" for root and Homebrew, sudo where it asks no password.
may_install() {
    if [ "$(id -u)" -eq 0 ] || command -v brew >/dev/null; then
        SUDO=()
    elif sudo -n true 2>/dev/null; then
        SUDO=(sudo -n)
    else
        return 1
    fi
}

as_installer() { ${SUDO[@]+"${SUDO[@]}"} "$@"; }

refresh_packages() {
    if command -v apt-get >/dev/null; then as_installer apt-get update --quiet --quiet; fi
}

install_by() {
    say "$1"
    # shellcheck disable=SC2086 # the command is ours and meant to be split
    as_installer $1
}
