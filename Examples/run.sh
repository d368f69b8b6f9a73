#!/bin/sh
# Builds and runs the example packages, which know Latchkey only as a library, and looks at what
# they print.
set -eu
cd "$(dirname "$0")"

# Runs the example of that name and keeps what it prints in $output.
run() {
    output=$(cd "$1" && swift run --quiet --configuration release "$1")
    printf '%s\n' "$output"
}

# Fails unless a line of the output matches the pattern.
expect() {
    printf '%s\n' "$output" | grep -q "$1" || {
        printf 'No line matches: %s\n' "$1" >&2
        exit 1
    }
}

run GuardedDictionary
for strategy in lock adaptive read-write-lock serial-queue; do
    expect "^$strategy: 80000 accesses, [0-9]* contended"
done

run OwnLock
expect '^backoff: ada has 4000$'
expect '^backoff: 10 accesses counted$'
expect '^backoff: keeps the laws$'
expect '^counting: keeps the laws$'
expect '^broken: breaks a law$'
