# shellcheck shell=bash
# For sourcing: what a program is made of, as SPDX 2.3 in JSON, by what dpkg knows of the files.

# write_sbom BUILT SHIPPED VERSION SECONDS FILE…: on standard output. BUILT is the program as it was linked, SHIPPED without what
# only a debugger reads, SECONDS the time to name, since 1970; FILEs are the libraries that it loads, and what else comes with it.
write_sbom() {
    local built=$1 shipped=$2 version=$3 seconds=$4 file
    shift 4
    local digest distribution vendor
    digest=$(sha256sum "$shipped" | cut -d ' ' -f 1)
    distribution=$(. /etc/os-release && printf '%s-%s' "$ID" "${VERSION_ID:-unstable}")
    vendor=$(. /etc/os-release && printf '%s' "$ID")
    # shellcheck disable=SC2016 # for dpkg-query and jq to expand
    for file in "$@"; do package_of "$file" || return 1; done | sort -u | xargs -r dpkg-query -W \
        -f '${Package}\t${Version}\t${Architecture}\t${source:Package}\t${Maintainer}\n' | jq -R -s \
        --arg version "$version" --arg digest "$digest" --arg created "$(date -u -d "@$seconds" +%Y-%m-%dT%H:%M:%SZ)" \
        --arg distribution "$distribution" --arg vendor "$vendor" --arg supplier "${vendor^}" --arg compiler "$(compilers "$built")" '
        def unknown: {downloadLocation: "NOASSERTION", filesAnalyzed: false, licenseConcluded: "NOASSERTION",
            licenseDeclared: "NOASSERTION", copyrightText: "NOASSERTION"};
        def id: "SPDXRef-" + gsub("[^A-Za-z0-9.-]"; "-");
        (split("\n") | map(select(. != "") | split("\t"))) as $packages
        | {spdxVersion: "SPDX-2.3", dataLicense: "CC0-1.0", SPDXID: "SPDXRef-DOCUMENT", name: "cloakroom-\($version)",
            documentNamespace: "https://cloakroom.invalid/spdx/cloakroom-\($version)-\($digest)",
            creationInfo: {created: $created, creators: ["Tool: cloakroom-deploy"]},
            packages: ([unknown + {SPDXID: "SPDXRef-cloakroom", name: "cloakroom", versionInfo: $version,
                    primaryPackagePurpose: "APPLICATION", checksums: [{algorithm: "SHA256", checksumValue: $digest}],
                    comment: "Holds parts of the libraries of its compilers: \($compiler)"}]
                + [$packages[] | unknown + {SPDXID: (.[0] | id), name: .[0], versionInfo: .[1], supplier: "Organization: \($supplier)",
                    primaryPackagePurpose: "LIBRARY", sourceInfo: "built from the source package \(.[3])",
                    externalRefs: [{referenceCategory: "PACKAGE-MANAGER", referenceType: "purl",
                        referenceLocator: "pkg:deb/\($vendor)/\(.[0] | @uri)@\(.[1] | @uri)?arch=\(.[2])&distro=\($distribution)"}]}]),
            relationships: ([{spdxElementId: "SPDXRef-DOCUMENT", relationshipType: "DESCRIBES", relatedSpdxElement: "SPDXRef-cloakroom"}]
                + [$packages[] | {spdxElementId: "SPDXRef-cloakroom", relationshipType: "DEPENDS_ON", relatedSpdxElement: (.[0] | id)}])}'
}

# libraries_of PROGRAM: the files that the loader would take.
libraries_of() { ldd "$1" | grep -oE '/[^ ]+' | sort; }

# package_of FILE: dpkg knows a file by the path it was packed with, which may lack /usr.
package_of() {
    local path name
    path=$(realpath "$1")
    for name in "$path" "${path#/usr}" "$1"; do
        if name=$(dpkg-query -S "$name" 2>/dev/null); then
            printf '%s\n' "${name%%: *}"
            return
        fi
    done
    printf '%s\n' "no package has $1" >&2
    return 1
}

# compilers PROGRAM: as they have signed it.
compilers() { readelf -p .comment "$1" | sed -nE 's/^ *\[ *[0-9a-f]+\] +//p' | paste -sd ';' | sed 's/;/; /g'; }
