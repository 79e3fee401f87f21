# shellcheck shell=bash
# For sourcing: checks that are counted. A script of checks ends with `report`, and its last line is the totals.

passed=0
failed=0
left_out=()

# check NAME COMMAND…: one line with its outcome; what the command said only when it failed.
check() {
    local name=$1 said
    shift
    if said=$("$@" 2>&1); then
        passed=$((passed + 1))
        printf '✓ %s\n' "$name"
    else
        failed=$((failed + 1))
        printf '✗ %s\n' "$name"
        [[ -z $said ]] || printf '%s\n' "$said" | tail -n 40 | sed 's/^/    /'
    fi
}

# leave_out WHAT WHY: what this machine cannot check is no failure; it stands above the totals.
leave_out() { left_out+=("$1: $2"); }

# check_same NAME EXPECTED ACTUAL: whole texts.
check_same() { check "$1" same "$2" "$3"; }

same() {
    [[ $1 == "$2" ]] || {
        printf 'expected: %s\nbut got:  %s\n' "$1" "$2"
        return 1
    }
}

# add_totals FILE: the totals of another script, from the last line of its output, and what it left out.
add_totals() {
    local totals what
    while read -r what; do left_out+=("$what"); done < <(sed -n 's/^left out: //p' "$1")
    totals=$(tail -n 1 "$1")
    if [[ $totals == "0 passed, 0 failed" ]]; then
        printf '✗ it checked nothing\n'
        failed=$((failed + 1))
    elif [[ $totals =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]]; then
        passed=$((passed + BASH_REMATCH[1]))
        failed=$((failed + BASH_REMATCH[2]))
    else
        printf '✗ it ended without totals\n'
        failed=$((failed + 1))
    fi
}

# report: the totals alone on the last line; its status is the outcome. Without a check there is nothing that holds.
report() {
    ((${#left_out[@]} == 0)) || printf 'left out: %s\n' "${left_out[@]}"
    printf '%s passed, %s failed\n' "$passed" "$failed"
    ((failed == 0 && passed > 0))
}
