import CloakroomJOSE
import CloakroomRedis

/// What a text of the settings must look like.
package enum TextShape: Sendable, CaseIterable {
    case any, path
    case region, bucket, endpoint, roleARN, externalID
    case headerName, claimName, algorithm, tier, scope
    case issuerURL, keyID
    case folder, keyPrefix, lifecyclePrefix, mediaType, baseURL
    case redisAddress, redisHost, redisMaster, redisKeyPrefix
    case kmsKey, kmsKeyARN
    case pageOrigin

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
        case .lifecyclePrefix: "beginning of keys, such as \"assets/\" or \"ca0\", or empty"
        case .mediaType: "media type in lower case, such as \"image/jpeg\""
        case .baseURL: "URL without a query, such as \"https://cdn.example/assets\""
        case .redisAddress: "\"host:port\" or \"unix:/path\""
        case .redisHost: "\"host:port\""
        case .redisMaster: "name of 1…64 letters, digits and .-_"
        case .redisKeyPrefix: "string without { and }"
        case .kmsKeyARN: "key's ARN, such as \"arn:aws:kms:eu-central-1:123456789012:key/1234abcd-…\""
        case .kmsKey: "key's ARN, id or \"alias/name\""
        case .pageOrigin:
            "origin as browsers send it, such as \"https://app.example\"; http for localhost, 127.0.0.1 and [::1] alone"
        }
    }

    func accepts(_ text: String) -> Bool {
        guard text.utf8.count <= 2048, text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else { return false }
        return switch self {
        case .any, .claimName, .path: !text.isEmpty
        case .region:
            ("a-z0-9-" as ASCIIClass).holdsAll(of: text, count: 1...63) && text.first != "-" && text.last != "-"
        case .bucket: isBucket(text)
        case .endpoint: WebOrigin(text)?.rest.isEmpty == true
        case .roleARN: isRoleARN(text)
        case .externalID: ("A-Za-z0-9_+=,.@:/-" as ASCIIClass).holdsAll(of: text, count: 2...1224)
        case .headerName:
            ("A-Za-z0-9!#$%&'*+.^_`|~-" as ASCIIClass).holdsAll(of: text, count: 1...64)
                && text.lowercased() != "authorization"
        case .algorithm: SignatureAlgorithm(rawValue: text) != nil
        case .issuerURL: IssuerURL(text) != nil
        case .keyID: ("A-Za-z0-9_.-" as ASCIIClass).holdsAll(of: text, count: 1...64)
        case .tier: Subject.isTier(text)
        case .scope:
            ("a-z0-9_-" as ASCIIClass).holdsAll(of: text, count: 1...32)
                && ("a-z" as ASCIIClass).holdsAll(of: text.prefix(1))
        case .folder: text.isEmpty || isFolder(text)
        case .keyPrefix: text.isEmpty || text.last == "/" && isFolder(text.dropLast())
        case .lifecyclePrefix: isBeginning(text)
        case .mediaType: isMediaType(text)
        case .baseURL: isBaseURL(text)
        case .redisAddress: RedisAddress(text) != nil
        case .redisHost: if case .internet = RedisAddress(text) { true } else { false }
        case .redisMaster: ("A-Za-z0-9._-" as ASCIIClass).holdsAll(of: text, count: 1...64)
        // A cluster takes the first braces of a key for what keys of one slot share: that is ours to say.
        case .redisKeyPrefix: !text.isEmpty && !text.contains { $0 == "{" || $0 == "}" }
        case .kmsKeyARN: isKeyARN(text)
        case .kmsKey: ("A-Za-z0-9:/_-" as ASCIIClass).holdsAll(of: text, count: 1...2048)
        case .pageOrigin: isPageOrigin(text)
        }
    }

    /// Amazon S3 User Guide, "General purpose bucket naming rules".
    private func isBucket(_ text: String) -> Bool {
        let labels = text.split(separator: ".", omittingEmptySubsequences: false)
        let isAddress = labels.count == 4 && labels.allSatisfy { ASCIIClass.digits.holdsAll(of: $0) }
        return ("a-z0-9.-" as ASCIIClass).holdsAll(of: text, count: 3...63) && !text.hasPrefix("-")
            && !text.hasSuffix("-") && labels.allSatisfy { !$0.isEmpty } && !isAddress
    }

    /// IAM User Guide, "IAM identifiers"; the partition is compared where the Region is known. Ceph's roles have no account
    /// outside a tenant: `arn:aws:iam:::role/name` (Ceph documentation, "STS in Ceph").
    private func isRoleARN(_ text: String) -> Bool {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 6, parts[0] == "arn", parts[1].hasPrefix("aws"), parts[2] == "iam", parts[3].isEmpty,
            parts[5].hasPrefix("role/")
        else { return false }
        return ("a-z-" as ASCIIClass).holdsAll(of: parts[1])
            && (parts[4].isEmpty || ASCIIClass.digits.holdsAll(of: parts[4], count: 12...12))
            && ("A-Za-z0-9_+=,.@/-" as ASCIIClass).holdsAll(of: parts[5].dropFirst(5), count: 1...512)
    }

    /// AWS KMS Developer Guide, "Key ARN"; an alias is no resource of a policy.
    private func isKeyARN(_ text: String) -> Bool {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 6, parts[0] == "arn", parts[1].hasPrefix("aws"), parts[2] == "kms",
            parts[5].hasPrefix("key/")
        else { return false }
        return ("a-z-" as ASCIIClass).holdsAll(of: parts[1]) && TextShape.region.accepts(String(parts[3]))
            && ASCIIClass.digits.holdsAll(of: parts[4], count: 12...12)
            && ("A-Za-z0-9-" as ASCIIClass).holdsAll(of: parts[5].dropFirst(4), count: 1...128)
    }

    /// RFC 6838 §4.2, in lower case.
    private func isMediaType(_ text: String) -> Bool {
        let names = text.split(separator: "/", omittingEmptySubsequences: false)
        return names.count == 2
            && names.allSatisfy {
                ("a-z0-9.+-" as ASCIIClass).holdsAll(of: $0, count: 1...127)
                    && ("a-z0-9" as ASCIIClass).holdsAll(of: $0.prefix(1))
            }
    }

    private func isBaseURL(_ text: String) -> Bool {
        guard let origin = WebOrigin(text), origin.host.first != "[" else { return false }
        // Behind each slash a name.
        return origin.rest.isEmpty
            || origin.rest.first == "/"
                && origin.rest.dropFirst().split(separator: "/", omittingEmptySubsequences: false)
                    .allSatisfy { ("A-Za-z0-9._~-" as ASCIIClass).holdsAll(of: $0) }
    }

    /// An origin as browsers serialize it (HTML Standard, "Origin"): in lower case, without the scheme's own port. No other form
    /// would ever match.
    private func isPageOrigin(_ text: String) -> Bool {
        guard let origin = WebOrigin(text), origin.rest.isEmpty, text == text.lowercased(), !origin.host.hasSuffix("."),
            !origin.host.hasPrefix("."), !origin.host.contains("..")
        else { return false }
        if !origin.port.isEmpty {
            guard let port = UInt16(origin.port.dropFirst()), port > 0, origin.port == ":\(port)",
                port != (origin.scheme == "https" ? 443 : 80)
            else { return false }
        }
        guard isAsBrowsersWriteIt(host: String(origin.host)) else { return false }
        return origin.scheme == "https" || ["localhost", "127.0.0.1", "[::1]"].contains(origin.host)
    }

    /// Addresses have one form in an origin (URL Standard, "host serializer"); others of them no browser ever sends.
    private func isAsBrowsersWriteIt(host: String) -> Bool {
        if host.hasPrefix("[") {
            let address = String(host.dropFirst().dropLast())
            return IPNetwork.canonical(address) == address
        }
        let last = host.split(separator: ".").last ?? ""
        return !ASCIIClass.digits.holdsAll(of: last) || IPNetwork.canonical(host) == host
    }

    /// Short enough to stand in the name of a rule (255 characters).
    private func isBeginning(_ text: String) -> Bool {
        let levels = text.split(separator: "/", omittingEmptySubsequences: false)
        return text.utf8.count <= 200 && levels.dropLast().allSatisfy { SessionPolicyCheck.isPlainName(Substring($0)) }
            && ("A-Za-z0-9_.-" as ASCIIClass).holdsAll(of: levels.last ?? "", count: 0...200)
    }

    private func isFolder(_ text: some StringProtocol) -> Bool {
        text.utf8.count <= 256
            && text.split(separator: "/", omittingEmptySubsequences: false)
                .allSatisfy { SessionPolicyCheck.isPlainName(Substring($0)) }
    }
}

extension RedisAddress {
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
        if host.first == "[", host.last == "]", ASCIIClass.addresses.holdsAll(of: host.dropFirst().dropLast()) {
            self = .internet(host: String(host.dropFirst().dropLast()), port: port)
        } else if ("A-Za-z0-9._-" as ASCIIClass).holdsAll(of: host, count: 1...253) {
            self = .internet(host: String(host), port: port)
        } else {
            return nil
        }
    }
}
