#!/bin/sh
# Builds and runs the example packages, which know Latchkey only as a library, and looks at what
# they print. Then builds the snippets of the documentation.
set -eu
cd "$(dirname "$0")"
# An outsider does not set it.
unset LATCHKEY_STRICT

# In one folder, so that the library is built once for all of them.
RELEASE="--configuration release --scratch-path ../.build/release"
# As snippets.py builds, which goes on in that folder: an optimised laboratory takes two minutes.
DEBUG="-Xswiftc -suppress-warnings --scratch-path ../.build/debug"

# Runs the example of that name with those options of the build and the arguments that follow, and
# keeps what it prints in $output.
run() {
    options=$1
    shift
    # shellcheck disable=SC2086
    output=$(cd "$1" && swift run --quiet $options "$@")
    printf '%s\n' "$output"
}

# Fails unless a line of the output matches the pattern.
expect() {
    printf '%s\n' "$output" | grep -q "$1" || {
        printf 'No line matches: %s\n' "$1" >&2
        exit 1
    }
}

run "$RELEASE" GuardedDictionary
for strategy in lock adaptive read-write-lock serial-queue; do
    expect "^$strategy: 80000 accesses, [0-9]* contended"
done

run "$RELEASE" OwnLock
expect '^backoff: ada has 4000$'
expect '^backoff: 10 accesses counted$'
expect '^backoff: keeps the laws$'
expect '^counting: keeps the laws$'
expect '^broken: breaks a law$'

# A release build with the package's trait stops at the nested access, and says where both are.
output=$(cd CheckedRelease && swift build --quiet --configuration release >&2 &&
    .build/release/CheckedRelease 2>&1) && exit 1
printf '%s\n' "$output" | head -n 1
expect 'exchange at CheckedRelease/main.swift:6 inside write at CheckedRelease/main.swift:5 '

run "$RELEASE" MeteredLocks
expect '^log       serial-queue      0       4 '
expect '^sessions  adaptive          0   40000 '
expect '^latchkey_lock_acquisitions_total{lock="log",strategy="serial-queue",mode="write"} 4$'

# Whether a difference is found depends on the machine; that every strategy was right does not.
run "$DEBUG" CacheLab --keys 1000 --skew zipf:0.9 --read-ratio 0.9 \
    --strategies yielding,lock,snapshot --threads 1,2 --duration 20ms --repeats 3 --force
expect "^'cache', 90 % reads"
expect '^yielding '
expect 'All 6 checks passed (workload, laws; 3 strategies)'

./snippets.py
