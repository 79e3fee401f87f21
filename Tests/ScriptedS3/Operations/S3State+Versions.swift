/// ListObjectVersions.
///
/// Source: S3 API Reference, ListObjectVersions: by key, and of a key the newest version first; at most 1,000.
extension S3State {
    mutating func listVersions(_ call: Call) throws(S3Error) -> S3Reply {
        try call.who.require("s3:ListBucketVersions")
        let request = call.request
        expireAll(now: call.now)
        let prefix = request.parameter("prefix") ?? ""
        let most = min(1000, request.parameter("max-keys").flatMap { Int($0) } ?? 1000)
        let (markerKey, markerVersion) = (request.parameter("key-marker"), request.parameter("version-id-marker"))
        let encodes = request.parameter("encoding-type") == "url"
        func name(_ key: String) -> String { encodes ? PercentText.encoded(key, keepingSlashes: true) : key }
        let keys = self[bucket: request.bucket].keys()
        let bucket = self[bucket: request.bucket]
        var contents: [String] = []
        var last: (key: String, version: String)?
        var isTruncated = false
        listing: for key in keys where key.hasPrefix(prefix) {
            if let markerKey, key != markerKey, !markerKey.utf8.lexicographicallyPrecedes(key.utf8) { continue }
            var versions = Array((bucket.versions[key] ?? []).reversed())
            let newest = versions.first?.versionID
            if key == markerKey {
                guard let markerVersion, let place = versions.firstIndex(where: { $0.versionID == markerVersion })
                else {
                    continue
                }
                versions.removeFirst(place + 1)
            }
            for version in versions {
                guard contents.count < most else {
                    isTruncated = true
                    break listing
                }
                last = (key, version.versionID)
                let element = version.isDeleteMarker ? "DeleteMarker" : "Version"
                contents.append(
                    "<\(element)>" + XMLText.element("Key", name(key))
                        + XMLText.element("VersionId", version.versionID)
                        + XMLText.element("IsLatest", version.versionID == newest ? "true" : "false")
                        + XMLText.element("LastModified", S3Timestamp(version.lastModified).iso)
                        + (version.isDeleteMarker ? "" : XMLText.element("Size", String(version.size)))
                        + "</\(element)>")
            }
        }
        let next =
            isTruncated
            ? XMLText.element("NextKeyMarker", name(last?.key ?? ""))
                + XMLText.element("NextVersionIdMarker", last?.version ?? "") : ""
        return S3Reply(
            200,
            xml: "<ListVersionsResult\(XMLText.namespace)>" + XMLText.element("Name", request.bucket)
                + XMLText.element("Prefix", name(prefix)) + XMLText.element("MaxKeys", String(most))
                + (encodes ? XMLText.element("EncodingType", "url") : "")
                + XMLText.element("IsTruncated", isTruncated ? "true" : "false") + next + contents.joined()
                + "</ListVersionsResult>")
    }
}
