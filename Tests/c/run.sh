#!/bin/sh
# Builds the C wrapper with its test program and runs it.
#
#   Tests/c/run.sh [asan | tsan | valgrind | plain]...     (all of them by default)
#
# asan      AddressSanitizer, LeakSanitizer and UndefinedBehaviorSanitizer
# tsan      ThreadSanitizer. libmicrohttpd itself is not instrumented; its locks are seen.
# valgrind  memcheck with a full check for leaks
# plain     the limit of an idle stream's memory, which the other tools would distort
set -eu
cd "$(dirname "$0")/../.."
build=.build-c
mkdir -p "$build"

# steps.c, lines_test.c and arrival_test.c have functions around these.
wraps=
for name in MHD_suspend_connection MHD_resume_connection latchkey_http_connection_notify \
    latchkey_http_body_give latchkey_http_body_is_taken latchkey_http_arrival_begin \
    MHD_get_version MHD_add_response_header time; do
    wraps="$wraps -Wl,--wrap=$name"
done

build_test() {
    cc=$1
    shift
    # shellcheck disable=SC2046,SC2086
    "$cc" -std=gnu17 -g -Wall -Wextra -Werror -fno-omit-frame-pointer "$@" \
        -ISources/service/CLatchkeyHTTP -ISources/service/CLatchkeyHTTP/include -ITests/c \
        Sources/service/CLatchkeyHTTP/*/*.c Tests/c/*.c \
        -lmicrohttpd -lgnutls -pthread $wraps
}

run() {
    printf '%s\n' "c wrapper: $1"
    case $1 in
    asan)
        build_test gcc -O1 -fsanitize=address,undefined -fno-sanitize-recover=all \
            -o "$build/http_test_asan"
        timeout 900 env ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1 \
            "$build/http_test_asan"
        ;;
    tsan)
        build_test gcc -O1 -fsanitize=thread -o "$build/http_test_tsan"
        timeout 900 env TSAN_OPTIONS=halt_on_error=0:exitcode=1 "$build/http_test_tsan"
        ;;
    valgrind)
        build_test gcc -O1 -o "$build/http_test_valgrind"
        # Without fair scheduling a thread that writes all the time starves the others.
        timeout 900 valgrind --quiet --fair-sched=try --error-exitcode=1 --leak-check=full \
            --show-leak-kinds=definite,indirect,possible --errors-for-leak-kinds=definite,indirect \
            "$build/http_test_valgrind"
        ;;
    plain)
        build_test gcc -O1 -o "$build/http_test"
        for which in "on new connections" "behind another request"; do
            timeout 900 "$build/http_test" "keeps idle streams small $which"
        done
        ;;
    *)
        printf '%s\n' "run.sh: asan, tsan, valgrind or plain, not $1" >&2
        exit 2
        ;;
    esac
}

[ $# -gt 0 ] || set -- asan tsan valgrind plain
# In parallel, because they wait most of the time.
pids=
# shellcheck disable=SC2086
trap 'kill $pids' INT TERM
for kind; do
    run "$kind" >"$build/$kind.log" 2>&1 &
    pids="$pids $!"
done
status=0
for pid in $pids; do
    wait "$pid" || status=$?
done
for kind; do
    cat "$build/$kind.log"
done
exit $status
