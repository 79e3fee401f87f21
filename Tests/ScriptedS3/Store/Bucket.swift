/// A bucket and everything in it.
struct Bucket {
    enum Versioning: String {
        case enabled = "Enabled"
        case suspended = "Suspended"
    }

    struct Upload {
        var key: String
        var started: Double
        var first: StoredVersion
        var parts: [Int: (bytes: [UInt8], entityTag: String)] = [:]
    }

    let region: String
    var versioning: Versioning?
    var lifecycle: Lifecycle?
    /// Somebody has called PutBucketEncryption: then a copy onto itself is legal without a change (moto #6300, #6303;
    /// LocalStack `test_copy_in_place_with_bucket_encryption`, validated).
    var encryption: StoredVersion.Encryption?
    /// Copies onto themselves need REPLACE whatever they name, as at MinIO, Ceph RGW and SeaweedFS.
    var refusesSelfCopy = false
    /// The last version is the current one.
    var versions: [String: [StoredVersion]] = [:]
    var uploads: [String: Upload] = [:]
    private var sorted: [String]?

    init(region: String) { self.region = region }

    /// The current version, unless it is a delete marker.
    func current(_ key: String) -> StoredVersion? { versions[key]?.last.flatMap { $0.isDeleteMarker ? nil : $0 } }

    /// - Returns: the version's id in the answer; `nil` where versioning was never on.
    @discardableResult
    mutating func write(_ version: StoredVersion, _ key: String, id: () -> String) -> String? {
        var version = version
        version.versionID = versioning == .enabled ? id() : "null"
        var all = versions[key] ?? []
        if versioning != .enabled { all.removeAll { $0.versionID == "null" } }
        if let last = all.indices.last, all[last].becameNoncurrent == nil {
            all[last].becameNoncurrent = version.lastModified
        }
        if versions[key] == nil { sorted = nil }
        versions[key] = all + [version]
        return versioning == nil ? nil : version.versionID
    }

    mutating func change(_ key: String, _ body: (inout StoredVersion) -> Void) {
        guard var all = versions[key], let last = all.indices.last, !all[last].isDeleteMarker else { return }
        body(&all[last])
        versions[key] = all
    }

    /// - Returns: the version's id and whether it is or was a delete marker; `nil` where nothing tells one.
    @discardableResult
    mutating func delete(
        _ key: String, version: String?, now: Double, id: () -> String
    ) -> (id: String, isMarker: Bool)? {
        if let version {
            let removed = versions[key]?.first { $0.versionID == version }
            versions[key]?.removeAll { $0.versionID == version }
            if versions[key]?.isEmpty == true { forget(key) }
            if let last = versions[key]?.indices.last { versions[key]?[last].becameNoncurrent = nil }
            return (version, removed?.isDeleteMarker == true)
        }
        guard versioning != nil else {
            forget(key)
            return nil
        }
        var marker = StoredVersion(lastModified: now)
        marker.isDeleteMarker = true
        return write(marker, key, id: id).map { ($0, true) }
    }

    mutating func forget(_ key: String) {
        versions[key] = nil
        sorted = nil
    }

    /// Keys of all versions in the order of their bytes.
    mutating func keys() -> [String] {
        if let sorted { return sorted }
        let keys = versions.keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        sorted = keys
        return keys
    }

    /// Removes what the lifecycle rules have ended.
    ///
    /// AWS does so at some time after the end; here it has been done whenever somebody looks.
    mutating func expire(_ key: String, now: Double, day: Double, id: () -> String) {
        guard let lifecycle, var all = versions[key] else { return }
        all.removeAll { version in
            guard let since = version.becameNoncurrent else { return false }
            return lifecycle.noncurrentEnd(of: key, version, since: since, day: day).map { $0 <= now } ?? false
        }
        if all.count != versions[key]?.count { versions[key] = all }
        guard let current = current(key),
            let end = lifecycle.expiration(of: key, current, day: day), end.at <= now
        else {
            if versions[key]?.isEmpty == true { forget(key) }
            return
        }
        delete(key, version: nil, now: end.at, id: id)
    }

    mutating func expireAll(now: Double, day: Double, id: () -> String) {
        guard let lifecycle else { return }
        for key in Array(versions.keys) { expire(key, now: now, day: day, id: id) }
        uploads = uploads.filter { _, upload in
            lifecycle.abortEnd(of: upload.key, since: upload.started, day: day).map { $0 > now } ?? true
        }
    }
}
