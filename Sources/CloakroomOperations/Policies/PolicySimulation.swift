package import CloakroomServer
import CloakroomWire

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// A session put to the test for one user, without AWS: requests of all kinds, what the policy says, and what it should.
///
/// What it should say of other users' objects is known beforehand: no, but for reading what they share. Of the user's own
/// it is read from the policy's words, where a statement names the whole folder without a condition.
package struct PolicySimulation: Sendable {
    package struct Row: Sendable, Equatable {
        package let action: String
        /// An object key, or what is listed.
        package let target: String
        package let remark: String
        package let isAllowed: Bool
        /// `nil` where the policy says neither yes nor no in so many words.
        package let expected: Bool?

        package var isAsExpected: Bool { expected == nil || expected == isAllowed }
    }

    package let rows: [Row]

    package init(_ grant: Grant, user: UserID, bucket: String, partition: String, at time: Date) {
        var grant = grant
        grant.clientAddress = PolicySimulator.address
        let simulator = PolicySimulator(
            policy: grant.scope.policy, session: grant.session(of: user, at: time), shared: grant.shared.folders,
            user: user, bucket: bucket, partition: partition, time: time)
        let own = simulator.objects + simulator.copies + simulator.lists
        rows = own + simulator.timesAndPlaces + simulator.sharedFolders + simulator.rest
    }
}

/// Makes the rows.
private struct PolicySimulator {
    /// Of the documentation's network (RFC 5737).
    static let address = "203.0.113.7"

    let policy: SessionPolicy
    /// As it is vended.
    let session: IAMPolicy
    let shared: [SharedFolder]
    let user: UserID
    let bucket: String
    let partition: String
    let time: Date

    typealias Row = PolicySimulation.Row

    private var context: [String: [String]] { ["user": [user.text], "aws:principaltag/userid": [user.text]] }

    private func arn(_ bucket: String, _ key: String) -> String { "arn:\(partition):s3:::\(bucket)/\(key)" }

    private func allows(
        _ action: String, _ resource: String, prefix: String? = nil, at time: Date? = nil,
        from address: String = address
    ) -> Bool {
        var context = context
        if let prefix { context["s3:prefix"] = [prefix] }
        context["aws:currenttime"] = [(time ?? self.time).wireText]
        context["aws:sourceip"] = [address]
        return session.allows(IAMRequest(action, resource, context: context))
    }

    // MARK: Objects

    private static let actions = [
        "s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:RestoreObject", "s3:GetObjectAttributes",
        "s3:AbortMultipartUpload", "s3:ListMultipartUploadParts", "s3:GetObjectVersion", "s3:DeleteObjectVersion",
        "s3:GetObjectTagging", "s3:PutObjectTagging",
    ]

    var objects: [Row] {
        var rows: [Row] = []
        for (index, folder) in policy.folders.enumerated() {
            let own = "\(folder)\(user.text)/"
            for action in index == 0 ? Self.actions : Array(Self.actions.prefix(3)) {
                rows.append(object(action, "\(own)a.jpg", "own object", expected(action, in: folder)))
            }
            rows.append(
                object(
                    "s3:PutObject", "\(own)../\(neighbour)/a.jpg", "own: dots mean nothing in S3's keys",
                    expected("s3:PutObject", in: folder)))
            for (key, remark) in otherUsersKeys(in: folder) where !isOwn(key) {
                rows.append(object("s3:GetObject", key, remark, isShared(key)))
                rows += ["s3:PutObject", "s3:DeleteObject"].map { object($0, key, remark, false) }
            }
            for name in ["\(bucket)-2", bucket.uppercased(), "*"] {
                rows.append(
                    Row(
                        action: "s3:GetObject", target: "s3://\(name)/\(own)a.jpg", remark: "another bucket",
                        isAllowed: allows("s3:GetObject", arn(name, "\(own)a.jpg")), expected: false))
            }
        }
        return rows
    }

    private func object(_ action: String, _ key: String, _ remark: String, _ expected: Bool?) -> Row {
        Row(
            action: action, target: key, remark: remark, isAllowed: allows(action, arn(bucket, key)), expected: expected
        )
    }

    private func isOwn(_ key: String) -> Bool { policy.folders.contains { key.hasPrefix("\($0)\(user.text)/") } }

    private func isShared(_ key: String) -> Bool { shared.contains { key.hasPrefix($0.prefix) } }

    /// One whose id begins with the user's, and who shares nothing: what a share opens would hide what is open without.
    private var neighbour: String {
        var digit = 0
        while shared.contains(where: { $0.owner.text == "\(user.text)\(digit)" }) { digit += 1 }
        return "\(user.text)\(digit)"
    }

    /// Keys near the border, and by whom they could be mistaken for the user's.
    private func otherUsersKeys(in folder: String) -> [(key: String, remark: String)] {
        let text = user.text
        let swapped = text.lowercased() == text ? text.uppercased() : text.lowercased()
        return [
            ("\(folder)\(neighbour)/a.jpg", "a user whose id begins with this one"),
            ("\(folder)0\(text)/a.jpg", "a user whose id ends with this one"),
            ("\(folder)\(text.dropLast())/a.jpg", "a user whose id this one begins with"),
            ("\(folder)\(swapped)/a.jpg", "the same letters in the other case"),
            ("\(folder)\(text)", "the folder's name alone"),
            ("\(folder)\(text).jpg", "the folder's name and more"),
            ("\(folder)../\(folder)\(text)/a.jpg", "dots before the user's folder"),
            ("/\(folder)\(text)/a.jpg", "a slash too many before"),
            ("\(folder)/\(text)/a.jpg", "a slash too many between"),
            ("\(folder)x/\(text)/a.jpg", "a folder between"),
            ("x\(folder)\(text)/a.jpg", "another folder that ends alike"),
            ("\(folder.uppercased())\(text)/a.jpg", "the folder in the other case"),
            ("\(folder)*/a.jpg", "a star for a user"), ("\(folder)?/a.jpg", "a question mark for a user"),
            ("\(folder)${aws:username}/a.jpg", "a variable for a user"),
            ("a.jpg", "the bucket's root"), ("", "no key"),
        ]
    }

    private func expected(_ action: String, in folder: String) -> Bool? {
        let whole = IAMPattern(arn(bucket, "\(folder)\(PolicyTemplate.userPlaceholder)/*"))
        let naming = policy.language.statements.filter { $0.actions.patterns.contains(IAMPattern(action.lowercased())) }
        if naming.contains(where: { $0.conditions.isEmpty && $0.resources?.patterns.contains(whole) == true }) {
            return true
        }
        return naming.isEmpty ? false : nil
    }

    // MARK: Copies

    /// A copy reads its source and writes its destination (S3 API Reference, CopyObject).
    var copies: [Row] {
        guard let folder = policy.folders.first else { return [] }
        let (own, other) = ("\(folder)\(user.text)/", "\(folder)\(neighbour)/")
        let both = expected("s3:GetObject", in: folder).flatMap { read in
            expected("s3:PutObject", in: folder).map { read && $0 }
        }
        return [
            copy("\(own)a.jpg", "\(own)b.jpg", "within the own folder", both),
            copy("\(other)a.jpg", "\(own)b.jpg", "from another user", false),
            copy("\(own)a.jpg", "\(other)b.jpg", "to another user", false),
            copy("\(other)a.jpg", "\(other)b.jpg", "between others", false),
        ]
    }

    private func copy(_ source: String, _ destination: String, _ remark: String, _ expected: Bool?) -> Row {
        Row(
            action: "copy", target: "\(source) to \(destination)", remark: remark,
            isAllowed: allows("s3:GetObject", arn(bucket, source)) && allows("s3:PutObject", arn(bucket, destination)),
            expected: expected)
    }

    // MARK: Lists

    var lists: [Row] {
        var rows = [list(nil, "everything", false), list("", "everything, said in words", false)]
        for folder in policy.folders {
            let own = "\(folder)\(user.text)/"
            rows += [
                list(own, "the own folder", expectedList(folder)),
                list("\(own)2026/", "within the own folder", expectedList(folder)),
            ]
            for (prefix, remark) in [
                (folder, "all users' folders"), ("\(folder)\(user.text)", "the own folder and those that begin alike"),
                ("\(folder)\(neighbour)/", "another user's folder"), ("\(folder)*/", "a star for a user"),
            ] where !isOwn(prefix) && !prefix.isEmpty { rows.append(list(prefix, remark, false)) }
        }
        return rows
    }

    private func list(_ prefix: String?, _ remark: String, _ expected: Bool?) -> Row {
        Row(
            action: "s3:ListBucket", target: prefix.map { "prefix \"\($0)\"" } ?? "without a prefix", remark: remark,
            isAllowed: allows("s3:ListBucket", "arn:\(partition):s3:::\(bucket)", prefix: prefix), expected: expected)
    }

    private func expectedList(_ folder: String) -> Bool? {
        let naming = policy.language.statements.filter {
            $0.actions.patterns.contains(IAMPattern("s3:listbucket"))
        }
        let whole = "\(folder)\(PolicyTemplate.userPlaceholder)/*"
        if naming.contains(where: { statement in
            statement.conditions.count == 1 && statement.conditions[0].key == "s3:prefix"
                && statement.conditions[0].test == IAMCondition.Test("StringLike")
                && statement.conditions[0].values.contains(whole)
        }) {
            return true
        }
        return naming.isEmpty ? false : nil
    }

    // MARK: Times and places

    /// Of a scope whose credentials are for one request: what it says at another time and in another place.
    var timesAndPlaces: [Row] {
        guard let folder = policy.folders.first else { return [] }
        let key = "\(folder)\(user.text)/a.jpg"
        return ["s3:GetObject", "s3:PutObject"].flatMap { action in
            var rows: [Row] = []
            if policy.namesClientAddress {
                rows.append(
                    Row(
                        action: action, target: key, remark: "from another address",
                        isAllowed: allows(action, arn(bucket, key), from: "198.51.100.7"), expected: nil))
            }
            if let window = policy.window {
                rows.append(
                    Row(
                        action: action, target: key, remark: "\(window) s later",
                        isAllowed: allows(action, arn(bucket, key), at: time.addingTimeInterval(Double(window))),
                        expected: nil))
            }
            return rows
        }
    }

    // MARK: Shared folders

    var sharedFolders: [Row] {
        shared.flatMap { folder in
            let key = "\(folder.prefix)a.jpg"
            let near = "\(folder.prefix.dropLast())0/a.jpg"
            // The user's own id may be one that begins as the owner's.
            let isNearOpen = isShared(near) || isOwn(near)
            let remark = "\(folder.owner.text) shares it"
            let over = shared.filter { key.hasPrefix($0.prefix) }.map(\.end).max() ?? folder.end
            return [
                object("s3:GetObject", key, remark, true), object("s3:PutObject", key, remark, false),
                object("s3:DeleteObject", key, remark, false), list(folder.prefix, remark, nil),
                object("s3:GetObject", near, "a folder that begins alike", isNearOpen),
                Row(
                    action: "s3:GetObject", target: key, remark: "when the share is over",
                    isAllowed: allows("s3:GetObject", arn(bucket, key), at: over),
                    expected: session.namesTime ? false : nil),
            ]
        }
    }

    // MARK: The rest

    var rest: [Row] {
        let bucketActions = [
            "s3:ListBucketVersions", "s3:ListBucketMultipartUploads", "s3:GetBucketPolicy", "s3:PutBucketPolicy",
            "s3:PutLifecycleConfiguration", "s3:DeleteBucket",
        ]
        let own = "\(policy.folders.first ?? "")\(user.text)/a.jpg"
        var rows = bucketActions.map { action in
            Row(
                action: action, target: bucket, remark: "the bucket itself",
                isAllowed: allows(action, "arn:\(partition):s3:::\(bucket)", prefix: own), expected: false)
        }
        rows += ["s3:PutObjectAcl", "s3:BypassGovernanceRetention"].map { action in
            object(action, own, "an own object, but not this", false)
        }
        rows += [("s3:ListAllMyBuckets", "*"), ("sts:AssumeRole", "*"), ("iam:PutRolePolicy", "*")].map {
            action, resource in
            Row(
                action: action, target: resource, remark: "nothing of S3's objects",
                isAllowed: allows(action, resource), expected: false)
        }
        return rows
    }
}

extension IAMPolicy {
    /// Whether a statement of it ends: not so on a store whose conditions do not know the time.
    fileprivate var namesTime: Bool { statements.contains { $0.conditions.contains { $0.key == "aws:currenttime" } } }
}
