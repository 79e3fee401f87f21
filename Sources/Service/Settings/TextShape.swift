import JOSE

/// What a text of the settings must look like.
enum TextShape: Sendable, CaseIterable {
    case any, path
    case region, bucket, endpoint, roleARN, externalID
    case headerName, claimName, algorithm, tier, scope
    case issuerURL, keyID
    case folder, keyPrefix, mediaType, baseURL
    case redisAddress
    case kmsKey

    var expected: String {
        switch self {
        case .any: "string"
        case .path: "path"
        case .region: "Region, such as \"eu-central-1\""
        case .bucket: "bucket name: 3…63 of a-z 0-9 - ."
        case .endpoint: "URL of scheme, host and port, such as \"http://127.0.0.1:18333\""
        case .roleARN: "role's ARN, such as \"arn:aws:iam::123456789012:role/name\""
        case .externalID: "string of 2…1224 letters, digits and _+=,.@:/-"
        case .headerName: "header name other than Authorization"
        case .claimName: "claim name"
        case .algorithm: "one of " + SignatureAlgorithm.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
        case .issuerURL: "https URL, or http to a loopback address"
        case .keyID: "string of 1…64 letters, digits and _.-"
        case .tier: "string of 1…64 letters, digits and _.:/=+@-"
        case .scope: "word of 1…32 of a-z 0-9 _ -, beginning with a letter"
        case .folder: "folder name of letters, digits and _-., with / between levels, or empty"
        case .keyPrefix: "string that is empty, or such as \"assets/\""
        case .mediaType: "media type in lower case, such as \"image/jpeg\""
        case .baseURL: "URL without a query, such as \"https://cdn.example/assets\""
        case .redisAddress: "\"host:port\" or \"unix:/path\""
        case .kmsKey: "key's ARN, id or \"alias/name\""
        }
    }

    func accepts(_ text: String) -> Bool {
        guard text.utf8.count <= 2048, text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else { return false }
        return switch self {
        case .any, .claimName, .path: !text.isEmpty
        case .region: text.wholeMatch(of: /[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?/) != nil
        case .bucket: isBucket(text)
        case .endpoint: text.wholeMatch(of: /https?:\/\/([A-Za-z0-9.-]+|\[[0-9A-Fa-f:]+\])(:[0-9]{1,5})?/) != nil
        case .roleARN:
            text.wholeMatch(of: /arn:aws[a-z-]*:iam::[0-9]{12}:role\/[A-Za-z0-9_+=,.@\/-]{1,512}/) != nil
        case .externalID: text.wholeMatch(of: /[A-Za-z0-9_+=,.@:\/-]{2,1224}/) != nil
        case .headerName:
            text.wholeMatch(of: /[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}/) != nil && text.lowercased() != "authorization"
        case .algorithm: SignatureAlgorithm(rawValue: text) != nil
        case .issuerURL: IssuerURL(text) != nil
        case .keyID: text.wholeMatch(of: /[A-Za-z0-9_.-]{1,64}/) != nil
        case .tier: Subject.isTier(text)
        case .scope: text.wholeMatch(of: /[a-z][a-z0-9_-]{0,31}/) != nil
        case .folder: text.isEmpty || isFolder(text)
        case .keyPrefix: text.isEmpty || text.last == "/" && isFolder(text.dropLast())
        case .mediaType: text.wholeMatch(of: /[a-z0-9][a-z0-9.+-]{0,126}\/[a-z0-9][a-z0-9.+-]{0,126}/) != nil
        case .baseURL:
            text.wholeMatch(of: /https?:\/\/[A-Za-z0-9.-]+(:[0-9]{1,5})?(\/[A-Za-z0-9._~-]+)*/) != nil
        case .redisAddress: Settings.Redis.Address(text) != nil
        case .kmsKey: text.wholeMatch(of: /[A-Za-z0-9:\/_-]{1,2048}/) != nil
        }
    }

    /// Amazon S3 User Guide, "General purpose bucket naming rules".
    private func isBucket(_ text: String) -> Bool {
        text.wholeMatch(of: /[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]/) != nil && !text.contains("..")
            && text.wholeMatch(of: /[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+/) == nil
    }

    private func isFolder(_ text: some StringProtocol) -> Bool {
        text.utf8.count <= 256
            && text.split(separator: "/", omittingEmptySubsequences: false)
                .allSatisfy { SessionPolicyCheck.isPlainName(Substring($0)) }
    }
}

extension Settings.Redis.Address {
    /// - Parameter text: `host:port`, `[IPv6]:port` or `unix:` and an absolute path.
    init?(_ text: String) {
        if text.hasPrefix("unix:/") {
            // sun_path holds 108 bytes with its end (unix(7)).
            guard text.utf8.count - 5 < 108 else { return nil }
            self = .unix(path: String(text.dropFirst(5)))
            return
        }
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]), port > 0 else {
            return nil
        }
        let host = text[..<colon]
        if let match = host.wholeMatch(of: /\[([0-9A-Fa-f:]+)\]/) {
            self = .tcp(host: String(match.1), port: port)
        } else if host.wholeMatch(of: /[A-Za-z0-9._-]{1,253}/) != nil {
            self = .tcp(host: String(host), port: port)
        } else {
            return nil
        }
    }
}

extension Settings.Redis.Address: CustomStringConvertible {
    package var description: String {
        switch self {
        case .unix(let path): "unix:\(path)"
        case .tcp(let host, let port): "\(host):\(port)"
        }
    }
}
