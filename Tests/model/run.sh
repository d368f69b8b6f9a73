#!/bin/sh
# Model-checks the adaptive lock, its conditions, the queue lock, the snapshot's reclamation and the
# switch of a stripe's guard under the C++20 memory model.
#
#   Tests/model/run.sh
#
# checker.h describes the checker. Prints a line for each model, with the number of execution graphs
# and of complete executions, and one for each planted fault. With LATCHKEY_MODEL_TRACE=1 it also
# prints the execution of each finding.
set -eu
cd "$(dirname "$0")/../.."
build=.build-model
mkdir -p "$build"
gcc -std=gnu17 -O2 -Wall -Wextra -Werror -ITests/model -o "$build/model" Tests/model/*.c
exec timeout 600 "$build/model"
