#!/bin/sh
# Runs the suites of all code that shares memory under ThreadSanitizer.
#
# First the code that must be free of races, which must bring no report. Then the known-bad
# strategies, which race by design: if they bring no report, the sanitizer sees nothing and the
# first part proves nothing.
#
# Limits: libdispatch is not instrumented on Linux. The sanitizer sees its hand-overs as the pthread
# and semaphore calls below them, which has been enough for no false report from the queue
# strategies. It does not see the kernel's hand-over of a `Mutex`, which MutexLock shows in debug
# builds.
#
# detect_deadlocks=0: the detector of lock orders follows 64 locks a thread and grows without limit
# in the test that holds 199 monitors; stripes are taken in ascending order by construction.
#
# One test at a time: the sanitizer makes every access several times slower, and threads of many
# tests on two cores would wait longer for each other than a test allows for a hang. It is also
# faster.
#
# Suites that start no threads of their own are skipped; they took a quarter of the time.
#
# Exit tests whose names say that something stops are skipped: a child of a sanitized process that
# many threads run in can hang in fork.
set -eu
cd "$(dirname "$0")/.."

build="--sanitize=thread --scratch-path .build-tsan"
# Only these are built: all would take three times as long.
LATCHKEY_TEST_TARGETS='LatchkeySyncTests LatchkeyMetricsTests LatchkeyContentionTests'
LATCHKEY_TEST_TARGETS="$LATCHKEY_TEST_TARGETS LatchkeyMeteringTests LatchkeyStoreTests"
LATCHKEY_TEST_TARGETS="$LATCHKEY_TEST_TARGETS LatchkeyPersistenceTests LatchkeyGuardsTests"
export LATCHKEY_TEST_TARGETS
alone='JSON[A-Za-z]*Tests|MergePatchTests|DeterminismTests|PrefixStepTests'
output=$(mktemp)
trap 'rm -f "$output"' EXIT

swift build $build --product latchkeyPackageTests

run() {
    TSAN_OPTIONS="detect_deadlocks=0" \
        swift test $build --skip-build --disable-xctest --no-parallel "$@" >"$output" 2>&1
}

# Prints the whole output, and then the warnings again: of a long output, CI shows the end.
fail() {
    cat "$output"
    sed -n '/WARNING: ThreadSanitizer/,/SUMMARY: ThreadSanitizer/p' "$output"
    printf '%s\n' "$1" >&2
    exit 1
}

# A process with a race exits with 66, also if all its tests passed.
status=0
run --skip ' stops?( |`|\(|$)' --skip "KnownBadStrategyTests|$alone" ||
    status=$?
if grep -q 'WARNING: ThreadSanitizer' "$output"; then
    fail "ThreadSanitizer reported a race (status $status)."
fi
[ "$status" -eq 0 ] || fail "The tests failed (status $status)."
grep 'Test run with' "$output"

run --filter KnownBadStrategyTests || true
if ! grep -q 'WARNING: ThreadSanitizer' "$output"; then
    fail 'ThreadSanitizer did not report the races of the known-bad strategies.'
fi
printf 'The races of the known-bad strategies were reported, as they have to be.\n'
