package import CloakroomServer

/// Where Cloakroom keeps objects of its own in the bucket: the canaries, what the doctor writes, and what validations
/// compare.
///
/// Their names come from ``ReservedKeys``: users may neither renew nor own anything below them.
package struct OwnObjects: Sendable, Equatable {
    /// What stands before the folders: a lifecycle prefix that ends in `/`, or nothing.
    package let parent: String
    /// The same in earlier versions: `renewal.keyPrefix`.
    private let formerParent: String
    /// What needs lifecycle rules of its own, because none of `lifecycle.prefixes` is for it.
    package let ruleless: [String]

    /// - Parameters:
    ///   - prefixes: `lifecycle.prefixes`.
    ///   - formerParent: `renewal.keyPrefix`.
    init(prefixes: [String], users: UserFolders, formerParent: String) {
        // Below users' folders they would be a user's.
        parent = prefixes.first { $0.hasSuffix("/") && users.met(by: $0).isEmpty } ?? ""
        self.formerParent = formerParent
        ruleless = parent.isEmpty && !prefixes.contains("") ? ReservedKeys.folders : []
    }

    /// Each host has a folder of its own below.
    package var canaries: String { parent + ReservedKeys.canaryFolder }
    package var doctor: String { parent + ReservedKeys.doctorFolder }
    /// Where canaries of earlier versions are; `nil` where they have not moved.
    package var formerCanaries: String? { formerParent == parent ? nil : formerParent + ReservedKeys.canaryFolder }

    /// Of today's objects and those of earlier versions, without validations; each ends in `/`.
    package var prefixes: [String] {
        [canaries, doctor] + (formerParent == parent ? [] : ReservedKeys.folders.map { formerParent + $0 })
    }

    /// Whether a whole key is one of Cloakroom's own; compared byte by byte, as S3 does.
    package func hold(_ key: String) -> Bool {
        // Validations are in the bucket itself, whatever the prefixes.
        ([ReservedKeys.validationStart] + prefixes).contains { key.utf8.starts(with: $0.utf8) }
    }
}

extension Settings {
    package var ownObjects: OwnObjects {
        OwnObjects(prefixes: lifecycle.prefixes, users: userFolders, formerParent: renewal.keyPrefix)
    }
}
