# shellcheck shell=bash
# For sourcing: checks that are counted. A script of checks ends with `report`, and its last line is the totals.

passed=0
failed=0
left_out=()
failures=()
begun_checks=() # "DESCRIPTOR PID NAME", in order
free_cores='' # the descriptor of a pipe

# check NAME COMMAND…: one line with its outcome; what the command said only when it failed.
check() {
    local name=$1 said status=0
    shift
    said=$("$@" 2>&1) || status=$?
    tell "$name" "$status" "$said"
}

# tell NAME STATUS SAID
tell() {
    if (($2 == 0)); then
        passed=$((passed + 1))
        printf '✓ %s\n' "$1"
    else
        count_failure "$1"
        [[ -z $3 ]] || printf '%s\n' "$3" | tail -n 40 | sed 's/^/    /'
    fi
}

# begin_check NAME COMMAND…: as check, beside others that were begun, as many at a time as there are cores; end_checks tells what
# came of them. For what computes on one core: nothing with a deadline.
begin_check() {
    local name=$1 place said
    shift
    # Files without a name are gone with this script, however it ends.
    place=$(mktemp -d "${TMPDIR:-/tmp}/cloakroom-check.XXXXXX")
    if [[ -z $free_cores ]]; then
        # A byte for each core: each check takes one, and gives it back.
        mkfifo "$place/cores"
        exec {free_cores}<>"$place/cores"
        printf '%*s' "$(nproc)" '' >&"$free_cores"
    fi
    exec {said}<>"$place/said"
    rm -r "$place"
    IFS= read -rN1 -u "$free_cores"
    {
        status=0
        text=$("$@" 2>&1) || status=$?
        printf '%s\n%s' "$text" "$status" >&"$said"
        printf ' ' >&"$free_cores"
    } </dev/null &
    begun_checks+=("$said $! $name")
}

# end_checks: the outcome of each that was begun, in their order.
end_checks() {
    local entry said pid name text
    for entry in "${begun_checks[@]}"; do
        read -r said pid name <<<"$entry"
        wait "$pid" || :
        text=$(<"/dev/fd/$said")
        exec {said}>&-
        # One that was ended from outside has no status.
        [[ ${text##*$'\n'} =~ ^[0-9]+$ ]] || text+=$'\n1'
        tell "$name" "${text##*$'\n'}" "${text%$'\n'*}"
    done
    begun_checks=()
}

# count_failure NAME: what failed is named where it is found, and again above the totals.
count_failure() {
    failed=$((failed + 1))
    failures+=("$1")
    printf '✗ %s\n' "$1"
}

# leave_out WHAT WHY: what this machine cannot check is no failure; it stands above the totals.
leave_out() { left_out+=("$1: $2"); }

# has_browser WHAT: whether WHAT can be looked at in Chromium; else it is left out.
has_browser() {
    # shellcheck source=/dev/null
    [[ ! -x /usr/bin/chromium && $(. /etc/os-release && say "$ID") == ubuntu ]] || return 0
    leave_out "$1" "Ubuntu has Chromium as a snap alone"
    return 1
}

# check_same NAME EXPECTED ACTUAL: whole texts.
check_same() { check "$1" same "$2" "$3"; }

same() {
    [[ $1 == "$2" ]] || {
        printf 'expected: %s\nbut got:  %s\n' "$1" "$2"
        return 1
    }
}

# add_totals NAME FILE: the totals of another script, from the last line of its output, what it left out, and what failed.
add_totals() {
    local totals what
    while read -r what; do left_out+=("$what"); done < <(sed -n 's/^left out: //p' "$2")
    totals=$(tail -n 1 "$2")
    if [[ $totals == "0 passed, 0 failed" ]]; then
        count_failure "$1 checked nothing"
    elif [[ $totals =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]]; then
        passed=$((passed + BASH_REMATCH[1]))
        failed=$((failed + BASH_REMATCH[2]))
        while read -r what; do failures+=("$1: $what"); done < <(sed -n 's/^failed: //p' "$2")
    else
        count_failure "$1 ended without totals"
    fi
}

# add_swift_totals STATUS FILE: what `swift test` printed, run after run, and the worst status that it ended with.
add_swift_totals() {
    local ran wrong what
    # How many ran stands in the last line of each run; lines of tests that end at once may run into each other. A test is
    # one line when it has failed, however many arguments it has.
    ran=$(grep -oE 'Test run with [0-9]+ tests?' "$2" | awk '{ sum += $4 } END { print sum + 0 }')
    wrong=$(grep -E '^[^ ]+ +Test .* failed after [0-9.]+ seconds' "$2" | grep -cvE '^[^ ]+ +Test (run with|case) ' || :)
    while read -r what; do failures+=("$what"); done < \
        <(sed -nE 's/^[^ ]+ +(Test .* recorded an issue .*)/\1/p' "$2" | cut -c 1-400 | head -n 20)
    # A crash leaves no line: the status does.
    if (($1 != 0 && wrong == 0)); then
        wrong=1
        failures+=("swift test ended with status $1")
    fi
    passed=$((passed + ran - (ran < wrong ? ran : wrong)))
    failed=$((failed + wrong))
    check "there are Swift tests" test "$ran" -gt 0
}

# report: the totals alone on the last line; its status is the outcome. Without a check there is nothing that holds.
report() {
    ((${#left_out[@]} == 0)) || printf 'left out: %s\n' "${left_out[@]}"
    ((${#failures[@]} == 0)) || printf 'failed: %s\n' "${failures[@]}"
    printf '%s passed, %s failed\n' "$passed" "$failed"
    ((failed == 0 && passed > 0))
}
