#!/bin/sh
# Builds and runs the example package, which knows Latchkey only as a library, and looks at what
# it prints.
set -eu
cd "$(dirname "$0")/GuardedDictionary"

output=$(swift run --quiet --configuration release GuardedDictionary)
printf '%s\n' "$output"
for strategy in lock adaptive read-write-lock serial-queue; do
    printf '%s\n' "$output" | grep -q "^$strategy: 80000 accesses, [0-9]* contended" || {
        printf 'The example says nothing of %s.\n' "$strategy" >&2
        exit 1
    }
done
