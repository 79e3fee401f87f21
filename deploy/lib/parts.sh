# shellcheck shell=bash
# For sourcing: the parts of a long run, one after the other or in lanes beside each other, and how long each took.
: "${state:?}"

part_times=()
part_name=''

# part NAME: a step.
part() {
    end_part
    part_name=$1
    part_began=$SECONDS
    step "$1"
}
end_part() {
    [[ -z $part_name ]] || took $((SECONDS - part_began)) "$part_name"
    part_name=''
}
took() { part_times+=("$(printf '%3d:%02d  %s' $(($1 / 60)) $(($1 % 60)) "$2")"); }

declare -A lanes # "PID SCRIPT…" of each that was begun

# begin_lane NAME SCRIPT…: of deploy/checks, one after the other, beside what the caller goes on with. A lane whose name begins with
# `idle` has what the others leave of the cores: it is of the idle class, and in a session of its own, which the kernel may weigh as
# a whole.
begin_lane() {
    local name=$1 pid script
    shift
    for script; do : >"$state/logs/checks-$script.log"; done
    # shellcheck disable=SC2016 # that bash expands it
    start "lane-$name" bash -c '
        # What it runs is of its process group, and ends with it.
        trap "trap : TERM; kill -TERM 0; wait; exit 143" TERM
        if [[ $2 == idle* ]]; then
            echo 19 2>/dev/null >/proc/self/autogroup || :
            chrt --idle --pid 0 $$
        fi
        for script in "${@:3}"; do
            began=$SECONDS
            # A shell without job control has what it starts ignore both.
            env --default-signal=INT,QUIT "deploy/checks/$script" >"${1}logs/checks-$script.log" 2>&1 &
            wait $!
            printf "%s %s\n" "$script" $((SECONDS - began))
        done' lane "$state/" "$name" "$@"
    read -r _ pid <<<"${started[-1]}"
    # A moment after its start it leads a group.
    poll 5 alive "-$pid" || :
    started[-1]="lane-$name -$pid"
    lanes[$name]="$pid $*"
}

# end_lane NAME: waits for it, shows what its scripts said, and adds their totals.
end_lane() {
    local name=$1 script seconds scripts pid
    read -r pid scripts <<<"${lanes[$name]}"
    until gone "-$pid"; do sleep 0.2; done
    for script in $scripts; do
        seconds=$(sed -n "s/^$script //p" "$state/logs/lane-$name.log")
        took "${seconds:-0}" "beside: checks of $script"
        step "Beside: checks of $script"
        cat "$state/logs/checks-$script.log"
        add_totals "$script" "$state/logs/checks-$script.log"
    done
    forget "lane-$name"
}
