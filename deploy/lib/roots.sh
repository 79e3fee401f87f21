# shellcheck shell=bash
# For sourcing: another distribution in a folder, made by mmdebstrap and kept, in which a script of this project runs.
#
# Source: mmdebstrap(1), chroot(8), mount_namespaces(7).
: "${root:?}" "${state:?}"

roots="bookworm trixie noble"

# mirror_of NAME: where its packages come from.
mirror_of() {
    case $1 in
        noble) say http://archive.ubuntu.com/ubuntu ;;
        *) say http://deb.debian.org/debian ;;
    esac
}

# need_root NAME: sets root_folder to the distribution's folder. Its status is 1 when its packages are out of reach.
need_root() {
    local name=$1 mirror partial log=$state/logs/root-$1.log options=()
    mirror=$(mirror_of "$name")
    root_folder=$state/roots/$name
    [[ ! -e $root_folder ]] || return 0
    ((EUID == 0)) || die "--in makes a root file system and enters it: run it as root"
    need_packages mmdebstrap curl
    mkdir -p "$state/roots"
    curl -sfI -m 20 -o /dev/null "$mirror/dists/$name/Release" || return 1
    if [[ $name == noble ]]; then
        # Debian 12 has no package of Ubuntu's keys; this is Ubuntu's own, by its digest.
        curl -sf -m 60 -o "$state/roots/keys.deb" "$mirror/pool/main/u/ubuntu-keyring/ubuntu-keyring_2023.11.28.1_all.deb" || return 1
        sha256sum --quiet --check <<<"36de43b15853ccae0028e9a767613770c704833f82586f28eb262f0311adb8a8  $state/roots/keys.deb" \
            || die "Ubuntu's keys are not those that are expected: $state/roots/keys.deb"
        dpkg-deb -x "$state/roots/keys.deb" "$state/roots/keys"
        options+=("--components=main,universe" "--keyring=$state/roots/keys/usr/share/keyrings/ubuntu-archive-keyring.gpg")
    fi
    say "making $name in $root_folder (about 1 GB with what the tests need)"
    partial=$root_folder.partial
    rm -rf --one-file-system "$partial"
    # What Swift's toolchain needs from the system: https://www.swift.org/install/linux/
    mmdebstrap --variant=minbase "${options[@]}" \
        --include=apt,ca-certificates,procps,git,tzdata,binutils,gcc,g++,libc6-dev,libedit2,libxml2,libsqlite3-0,libncurses6,zlib1g-dev \
        "$name" "$partial" "$mirror" >"$log" 2>&1 </dev/null || {
        tail -n 20 "$log" >&2
        die "mmdebstrap could not make $name; the whole story: $log"
    }
    mv "$partial" "$root_folder"
}

# run_in_root NAME SCRIPT ARGUMENT…: a script of this checkout, as it is now, in the distribution; its status is the
# script's. What it builds and installs stays there for the next time. Without the distribution it is left out.
run_in_root() {
    local name=$1 place toolchain
    [[ " $roots " == *" $name "* ]] || die "there is no distribution $name; known: $roots"
    make_state
    need_swift
    need_root "$name" || {
        say "skipped: not reachable: $(mirror_of "$name")"
        return 0
    }
    shift
    place=$root_folder/srv/cloakroom
    mkdir -p "$place"
    # Whole folders anew, since a file may be gone, with their times, by which a build knows what has changed.
    (cd "$place" && rm -rf Sources Tests deploy nginx .ci)
    git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' file; do
        [[ ! -e $file ]] || printf '%s\0' "$file"
    done | tar --null -T - -cf - | tar -xf - -C "$place"
    # Some checks ask git which files there are, and a campaign's report which commit it is of.
    git -C "$place" init -q
    git -C "$place" add -A
    git -C "$place" -c user.name=root -c user.email=root@localhost commit -q --allow-empty -m "As of $(git rev-parse HEAD)"
    toolchain=$(realpath "$(command -v swift)")
    toolchain=${toolchain%/bin/*}
    mkdir -p "$root_folder$toolchain"
    # Mounts and processes of its own: both are gone when the script ends, however it ends.
    # shellcheck disable=SC2016 # that the other bash expands it
    run_attended unshare --mount --pid --fork --kill-child --propagation private -- bash -euc '
        folder=$1 toolchain=$2
        shift 2
        mount --bind "$folder" "$folder"
        mount -t proc proc "$folder/proc"
        mount --rbind /sys "$folder/sys"
        mount --rbind /dev "$folder/dev"
        mount -t tmpfs -o mode=1777 tmpfs "$folder/tmp"
        mount --bind "$toolchain" "$folder$toolchain"
        # Names are looked up, and servers trusted, as on this machine.
        for file in /etc/resolv.conf /etc/hosts /etc/ssl/certs/ca-certificates.crt; do
            [[ ! -e $file ]] || cat "$file" >"$folder$file"
        done
        for name in ${!CLOAKROOM_@} TMPDIR; do unset "$name"; done
        export HOME=/root PATH="$toolchain/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        exec chroot "$folder" /srv/cloakroom/"$@"' in-root "$root_folder" "$toolchain" "$@"
}
