# shellcheck shell=bash
# For sourcing, after roots.sh: what the tests take from the distribution's archive besides packages that are installed. apt
# verifies it by the distribution's keys, with lists of its own: those of the system stay as they are.
#
# Source: apt.conf(5), sources.list(5), apt-get(8).
: "${root:?}" "${state:?}" "${roots:?}"

# release_name: of this distribution, such as bookworm.
release_name() { (. /etc/os-release && say "${VERSION_CODENAME:-}"); }

# from_archive TYPE SUITES FOLDER ARGUMENT…: apt-get with these arguments in that folder, as if there were only these suites; TYPE is
# deb or deb-src. Its status is not 0 where they are out of reach, or not signed by the distribution.
from_archive() (
    type=$1 folder=$3 components=main
    read -ra suites <<<"$2"
    shift 3
    mirror=$(mirror_of "$(release_name)")
    keys=/usr/share/keyrings/$(. /etc/os-release && say "$ID")-archive-keyring.gpg
    [[ $mirror != *ubuntu* ]] || components="main universe"
    ours=$(mktemp -d "${TMPDIR:-/tmp}/cloakroom-apt.XXXXXX") || return
    trap 'rm -rf "$ours"' EXIT
    chmod 755 "$ours" # apt reads from the network as a user of its own
    mkdir -p "$ours/none" "$ours/lists/partial" "$ours/cache/archives/partial"
    printf '%s\n' "${suites[@]/#/$type [signed-by=$keys] $mirror }" | sed "s/\$/ $components/" >"$ours/sources.list"
    # Read after the system's, whose proxies it keeps. Its hooks are for its own lists.
    cat >"$ours/apt.conf" <<END
Dir::Etc::SourceList "$ours/sources.list";
Dir::Etc::SourceParts "$ours/none";
Dir::Etc::Preferences "/dev/null";
Dir::Etc::PreferencesParts "$ours/none";
Dir::State::Lists "$ours/lists";
Dir::Cache "$ours/cache";
Acquire::Languages "none";
Acquire::Retries "1";
Acquire::http::Timeout "20";
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
END
    apt-get -q -c "$ours/apt.conf" update && cd "$folder" && apt-get -q -c "$ours/apt.conf" "$@"
)

# need_symbolic_libfcgi: sets CLOAKROOM_SYMBOLIC_LIBFCGI to a libfcgi of the distribution's source package, linked with
# -Bsymbolic-functions as Ubuntu links its own. Its status is 1 where the source is out of reach.
need_symbolic_libfcgi() {
    [[ -z $CLOAKROOM_SYMBOLIC_LIBFCGI ]] || return 0
    local folder log=$state/logs/libfcgi.log sources
    # shellcheck disable=SC2016 # that dpkg-query expands it
    folder=$state/tools/libfcgi-$(dpkg-query -W -f='${source:Version}' libfcgi-dev)
    if [[ ! -e $folder/libfcgi.so.0 ]]; then
        say "building libfcgi of the source package with -Bsymbolic-functions in $folder"
        rm -rf "$folder.partial"
        mkdir -p "$folder.partial"
        from_archive deb-src "$(release_name)" "$folder.partial" source libfcgi >"$log" 2>&1 || return 1
        sources=("$folder.partial"/*/libfcgi)
        link_symbolically "${sources[0]%/libfcgi}" "$folder.partial/libfcgi.so.0" >>"$log" 2>&1 || {
            tail -n 20 "$log" >&2
            die "libfcgi could not be built; the whole story: $log"
        }
        rm -rf "$folder"
        mv "$folder.partial" "$folder"
    fi
    CLOAKROOM_SYMBOLIC_LIBFCGI=$folder/libfcgi.so.0
}

# link_symbolically SOURCE LIBRARY: as the package's own makefile, with that one option more.
link_symbolically() {
    # What configure finds on Linux.
    sed -nE 's/^#undef (HAVE_[A-Z_]+_H|HAVE_FILENO_PROTO|HAVE_FPOS|HAVE_SOCKLEN|HAVE_STRERROR|STDC_HEADERS)$/#define \1 1/p' \
        "$1/include/fcgi_config.h.in" >"$1/include/fcgi_config.h"
    cc -O2 -fPIC -shared -I "$1/include" -o "$2" -Wl,-soname,libfcgi.so.0 -Wl,-Bsymbolic-functions \
        "$1"/libfcgi/{fcgiapp,fcgi_stdio,os_unix}.c -lm
}

# need_valkey: sets CLOAKROOM_VALKEY_SERVER to the server of the distribution's package or, in a release that has none, of its
# updates or backports: that is unpacked, not installed. Its status is 1 where it is not to be had.
need_valkey() {
    [[ -z $CLOAKROOM_VALKEY_SERVER ]] || return 0
    local release folder
    release=$(release_name)
    folder=$state/tools/valkey-$release
    if [[ ! -e $folder ]] && apt-cache show valkey-server >/dev/null 2>&1; then
        need_packages valkey-server
        CLOAKROOM_VALKEY_SERVER=$(command -v valkey-server)
        return
    fi
    [[ -e $folder ]] || unpack_valkey "$release-updates $release-backports" "$folder" >"$state/logs/valkey.log" 2>&1 || return 1
    CLOAKROOM_VALKEY_SERVER=$folder/usr/bin/valkey-server
}

# unpack_valkey SUITES FOLDER: the program is in the package of the tools, its name in that of the server.
unpack_valkey() {
    local package partial=$2.partial
    rm -rf "$partial"
    mkdir -p "$partial"
    from_archive deb "$1" "$partial" download valkey-server valkey-tools || return 1
    for package in "$partial"/*.deb; do dpkg-deb -x "$package" "$partial" && rm "$package" || return 1; done
    # The libraries that it needs come with redis-server.
    "$partial/usr/bin/valkey-server" --version && mv "$partial" "$2"
}
