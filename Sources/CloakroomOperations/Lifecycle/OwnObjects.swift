import CloakroomAWS
package import CloakroomServer

/// Where Cloakroom keeps objects of its own in the bucket: the canaries, what the doctor writes, what validations compare,
/// and what renewals are tested with.
///
/// Their names come from ``ReservedKeys``: users may neither renew nor own anything below them.
package struct OwnObjects: Sendable, Equatable {
    /// What stands before the folders: a lifecycle prefix that ends in `/`, or nothing.
    package let parent: String
    /// The same in earlier versions: `renewal.keyPrefix`.
    private let formerParent: String
    /// What needs lifecycle rules of its own, because none of `lifecycle.prefixes` is for it.
    package let ruleless: [String]
    /// The keys of what renewals are tested with, one where each asset may lie.
    private let renewalTests: [String]
    /// Those of them that none of `lifecycle.prefixes` is for. A bucket that keeps versions needs rules for them: each test
    /// leaves one. Not those in users' folders, where no rule of ours is.
    package let rulelessRenewalTests: [String]

    /// - Parameters:
    ///   - prefixes: `lifecycle.prefixes`.
    ///   - places: of assets.
    ///   - formerParent: `renewal.keyPrefix`.
    init(prefixes: [String], places: [String], users: UserFolders, formerParent: String) {
        renewalTests = places.map { $0 + S3Client.testObjectName }
        rulelessRenewalTests = renewalTests.filter { key in
            !prefixes.contains { key.hasPrefix($0) } && users.met(by: key).isEmpty
        }
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
            || renewalTests.contains { key.utf8.elementsEqual($0.utf8) }
    }
}

extension Settings {
    package var ownObjects: OwnObjects {
        OwnObjects(
            prefixes: lifecycle.prefixes, places: assetPrefixes.map(\.prefix), users: userFolders,
            formerParent: renewal.keyPrefix)
    }
}
