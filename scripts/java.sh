# shellcheck shell=bash
# Sourced by scripts/test: makes sure there is a Java that runs Kafka, installing one where that is allowed.

# Run as a file, because importing the package for this would take ten times as long.
java_is_there() { "$VENV/bin/python" -P "$ROOT/membership_client/testing/java.py"; }

first_apt_package() {
    local name
    for name in openjdk-21-jre-headless openjdk-17-jre-headless openjdk-25-jre-headless; do
        if apt-get install --simulate "$name" >/dev/null 2>&1; then
            echo "$name"
            return
        fi
    done
    echo default-jre-headless
}

# The one command that installs Java here, or nothing where we know no package manager.
java_install_command() {
    if command -v apt-get >/dev/null; then
        echo "apt-get install --yes --no-install-recommends $(first_apt_package)"
    elif command -v dnf >/dev/null; then
        echo "dnf install --assumeyes java-21-openjdk-headless"
    elif command -v apk >/dev/null; then
        echo "apk add openjdk21-jre-headless"
    elif command -v brew >/dev/null; then
        echo "brew install openjdk@21"
    fi
}

install_java() {
    say "no Java 17 or newer found, installing one"
    refresh_packages
    # Only now: a fresh container has no package lists, and without them the right package cannot be chosen.
    install_by "$(java_install_command)"
}

ensure_java() {
    if java_is_there; then return; fi
    local command
    command=$(java_install_command)
    if [ -z "$command" ]; then
        die "Kafka needs Java 17 or newer, and none was found. Install one, or set JAVA_HOME, and run scripts/test again."
    elif ! may_install; then
        die "Kafka needs Java 17 or newer, and none was found. Type this and run scripts/test again: sudo $command"
    fi
    install_java
    java_is_there || die "Java was installed but is not found. Set JAVA_HOME and run scripts/test again."
}
