# shellcheck shell=bash
# For sourcing: starts processes, and stops exactly those.
#
# Each gets a session of its own, so that Ctrl-C reaches this script alone, which then stops them in order; and a
# parent-death signal, so that they go even when this script is killed with a signal that cannot be caught.
: "${state:?}"

started=()      # "NAME PID", in order
attended=       # the pid of a command that runs in the foreground, such as a build
declare -A hard # names that are stopped with SIGKILL

# stop_hard NAME: what it holds is not worth a goodbye.
stop_hard() { hard[$1]=yes; }

# only_one: a second run in the same folder would pull files from under the first.
only_one() {
    exec 9>>"$state/lock"
    # Not at once: what a killed run was just calling, a sleep or a curl, holds the lock for a moment longer.
    flock -w 3 9 || die "another run uses $state (pid $(<"$state/lock")); stop it, or set CLOAKROOM_STATE to another folder"
    printf '%s\n' $$ >"$state/lock"
}

# start NAME COMMAND…: in the background, output to logs/NAME.log.
# The command line must name the state folder: that is how stop_stale recognises it.
start() {
    local name=$1 signal=TERM
    shift
    [[ -z ${hard[$name]:-} ]] || signal=KILL
    setsid setpriv --pdeathsig "$signal" -- "$@" >"$state/logs/$name.log" 2>&1 </dev/null 9>&- &
    local pid=$!
    printf '%s\n' "$pid" >"$state/pids/$name"
    started+=("$name $pid")
    # Its end is ours to report, not the shell's.
    disown "$pid"
}

# check_running: dies with the last lines of its log when something that was started is gone.
check_running() {
    local entry name pid
    for entry in "${started[@]}"; do
        read -r name pid <<<"$entry"
        alive "$pid" || {
            tail -n 15 "$state/logs/$name.log" >&2
            die "$name has stopped by itself; its log: $state/logs/$name.log"
        }
    done
}

# wait_for SECONDS WHAT COMMAND…: polls COMMAND; dies when it takes longer, or when a process is gone meanwhile.
wait_for() {
    local deadline=$(($(now_ms) + $1 * 1000)) what=$2
    shift 2
    until "$@" >/dev/null 2>&1; do
        check_running
        (($(now_ms) < deadline)) || die "$what did not get ready in time; logs: $state/logs/"
        sleep 0.05
    done
}

# run_attended COMMAND…: as in the foreground, but a signal is handled at once and ends the command too.
run_attended() {
    local result=0
    # With job control it leads a process group of its own: a build or a test run is more than one process.
    set -m
    "$@" </dev/null 9>&- &
    attended=$!
    set +m
    wait "$attended" || result=$?
    attended=
    return "$result"
}

# A negative number is a process group.
alive() { kill -0 -- "$1" 2>/dev/null; }

gone() { ! alive "$1"; }

# stop_process NAME PID: SIGTERM, 25 s (a worker drains for up to 20), then SIGKILL.
stop_process() {
    local name=$1 pid=$2
    if [[ -n ${hard[$name]:-} ]]; then kill -KILL "$pid" 2>/dev/null; else kill -TERM "$pid" 2>/dev/null; fi
    poll 25 gone "$pid" || {
        kill -KILL "$pid" 2>/dev/null
        poll 5 gone "$pid" || say "$name (pid $pid) does not end"
    }
    rm -f "$state/pids/$name"
}

# forget NAME: it has ended by itself.
forget() {
    local index
    for index in "${!started[@]}"; do [[ ${started[index]} != "$1 "* ]] || unset "started[index]"; done
    started=("${started[@]}")
    rm -f "$state/pids/$1"
}

# stop_started: the last first.
stop_started() {
    local index name pid
    if [[ -n $attended ]]; then
        # First as Ctrl-C would: swift gives each compiler and test a process group of its own, and ends them at SIGINT alone.
        kill -INT -- "-$attended" 2>/dev/null || :
        poll 10 gone "-$attended" || kill -TERM -- "-$attended" 2>/dev/null || :
        poll 10 gone "-$attended" || kill -KILL -- "-$attended" 2>/dev/null || :
        attended=
    fi
    for ((index = ${#started[@]} - 1; index >= 0; index--)); do
        read -r name pid <<<"${started[index]}"
        stop_process "$name" "$pid"
    done
    started=()
}

# stop_at_end: the script stops what it started, whatever way it ends.
stop_at_end() {
    trap 'trap "" INT TERM HUP; stop_started' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    trap 'exit 129' HUP
}

# stop_stale: what an earlier run left behind. A pid alone proves nothing, numbers are used again: only a process
# whose command line names our state folder is ours.
stop_stale() {
    local file name pid
    for file in "$state"/pids/*; do
        [[ -e $file ]] || continue
        name=${file##*/}
        pid=$(<"$file")
        if [[ $pid =~ ^[0-9]+$ ]] && tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline" | grep -qF -- "$state/"; then
            say "stopping $name (pid $pid), left behind by an earlier run"
            stop_process "$name" "$pid"
        fi
        rm -f "$file"
    done
}
