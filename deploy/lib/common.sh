# shellcheck shell=bash
# For sourcing: where things are, and how scripts speak.

# The four programs of the stack; a path in one of these is used as it is, instead of installing or building it.
: "${CLOAKROOM_NGINX:=}" "${CLOAKROOM_REDIS_SERVER:=}" "${CLOAKROOM_WEED:=}" "${CLOAKROOM_WORKER:=}"
# The kit's sample, a client of it that the demonstration and the benchmark run.
: "${CLOAKROOM_SAMPLE:=}"
# Clients of it, for the tests: a folder with bin/python, which has boto3, and bin/aws.
: "${CLOAKROOM_CLIENTS:=}"
# The same for clients of STS' own wire: bin/python, which has s3fs, minio, obstore and polars.
: "${CLOAKROOM_SDKS:=}"
# For the checks of deploy/cloudformation and deploy/terraform: a folder with bin/python, which has hcl2, and bin/cfn-lint.
: "${CLOAKROOM_LINTERS:=}"
# For the checks of deploy/openapi.yaml: a folder with bin/python, bin/openapi-spec-validator and bin/schemathesis.
: "${CLOAKROOM_OPENAPI:=}"
# For the checks of deploy/kubernetes, and for checkov: a folder with bin/checkov and bin/kubernetes-validate.
: "${CLOAKROOM_SCANNERS:=}"
# For the tests: a client of the AWS SDK for Go; a libfcgi linked with -Bsymbolic-functions; Valkey's server, beside Redis'.
: "${CLOAKROOM_GO_CLIENT:=}" "${CLOAKROOM_SYMBOLIC_LIBFCGI:=}" "${CLOAKROOM_VALKEY_SERVER:=}"

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)

# Everything a run leaves behind is in here; CLOAKROOM_STATE puts it elsewhere.
state=${CLOAKROOM_STATE:-$root/.state}

# Debian keeps nginx in a folder that is not in everybody's PATH.
PATH=$PATH:/usr/sbin:/sbin

say() { printf '%s\n' "$*"; }

step() { printf '\n== %s\n' "$*"; }

# One sentence to standard error, and out; the EXIT trap of the script stops what runs.
die() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit 1
}

# Makes the state folder, readable by its owner alone: it holds secrets and logs.
make_state() {
    (umask 077 && mkdir -p "$state" "$state/logs" "$state/pids" "$state/secrets" "$state/tools") \
        || die "cannot write to $state; CLOAKROOM_STATE=<folder> chooses another"
    state=$(cd "$state" && pwd -P)
    # It is written into configuration files, each with quoting rules of its own.
    [[ $state =~ ^[A-Za-z0-9/._+@%=:,~-]+$ ]] \
        || die "the path $state has characters that do not survive configuration files; CLOAKROOM_STATE=<folder> chooses another"
}

# make_secret NAME: 64 hexadecimal digits (256 bits) in secrets/NAME, made once, mode 0600, no line end.
make_secret() {
    local file=$state/secrets/$1
    [[ -s $file ]] && return
    (umask 077 && od -An -N32 -tx1 /dev/urandom | tr -d ' \n' >"$file.new" && mv "$file.new" "$file")
}

# now_ms: milliseconds, for deadlines of this script alone.
now_ms() { printf '%s' "$((${EPOCHREALTIME/[.,]/} / 1000))"; }

# poll SECONDS COMMAND…: runs it every 50 ms until it succeeds; fails when the time is over.
poll() {
    local deadline=$(($(now_ms) + $1 * 1000))
    shift
    until "$@" >/dev/null 2>&1; do
        (($(now_ms) < deadline)) || return 1
        sleep 0.05
    done
}
