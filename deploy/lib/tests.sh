# shellcheck shell=bash
# For sourcing: runs Swift tests that are built. `sanitizer` is empty, address or thread.
: "${root:?}" "${state:?}"

# A folder of its own: these flags would make an ordinary build start over, and the other way round.
build_options=(--scratch-path ".build/test${sanitizer:+-$sanitizer}" -Xswiftc -warnings-as-errors)
if [[ -z $sanitizer ]]; then
    # Nothing reads it, and it takes a tenth of the build.
    build_options+=(-debug-info-format none)
else
    build_options+=(--sanitize "$sanitizer")
    # Leaks are left out: Swift's runtime keeps what it has made.
    export ASAN_OPTIONS=detect_leaks=0
    export TSAN_OPTIONS="halt_on_error=1 suppressions=$root/deploy/lib/thread-sanitizer.txt"
fi
# Where the system allows fewer by default: each test has files and connections of its own.
[[ $(ulimit -Sn) == unlimited ]] || (($(ulimit -Sn) >= 4096)) || ulimit -Sn 4096 2>/dev/null || ulimit -Sn "$(ulimit -Hn)"
# So many at a time, unless the tests' library is too old to know it: all at once, they run out of what they wait for.
export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=32

# swift_tests LOG OPTION…: adds what they say to the file.
#
# A test that waits for ever is a failure, not a reason to wait for ever. timeout(1) leads a process group of its own: the
# pipeline is in it, so that one signal reaches everything. SIGINT, and a reader until the end: so swift ends what it runs.
# Runs beside each other share the folder, which none of them writes to.
swift_tests() {
    # shellcheck disable=SC2016 # that bash expands it
    run_attended timeout --signal=INT --kill-after=10 900 bash -o pipefail -c '
        swift test --skip-build --ignore-lock "${@:2}" 2>&1 | (trap "" INT; tee -a "$1" | sed -u "/ started\.$/d")' \
        swift_tests "$1" "${build_options[@]}" "${@:2}"
}
