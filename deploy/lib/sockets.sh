# shellcheck shell=bash
# For sourcing: a folder for unix sockets. The path of a socket has at most 107 bytes (unix(7)), and a checkout may be
# deep; then a short folder in /tmp does it, with sockets in the state folder as a link to it.
: "${state:?}"

make_sockets_folder() {
    forget_sockets
    sockets=$state/sockets
    # The longest name in it: a worker's, while it is being replaced.
    local longest=$sockets/worker-99.sock.1234567.new
    if ((${#longest} <= 107)); then
        mkdir -m 700 "$sockets"
    else
        local short
        short=$(mktemp -d /tmp/cloakroom.XXXXXX) || die "cannot make a folder in /tmp"
        ln -s "$short" "$sockets"
        sockets=$short
    fi
}

# Removes the folder, this run's or the one of an earlier run that was killed.
forget_sockets() {
    local link=$state/sockets target
    if [[ -L $link ]]; then
        target=$(readlink "$link")
        [[ $target != /tmp/cloakroom.?????? ]] || rm -rf "$target"
        rm -f "$link"
    else
        rm -rf "$link"
    fi
}
