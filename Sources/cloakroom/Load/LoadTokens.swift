import CloakroomCrypto
import CloakroomJOSE
import CloakroomLoad
import CloakroomLoop
import CloakroomServer
import CloakroomSignatures

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The tokens of a load, signed before it begins: what a signature costs is not to be measured.
enum LoadTokens {
    static let maximum = 100_000
    private static let maximumFileBytes = 256 << 20

    /// - Parameter lifetime: of each token.
    static func all(_ options: Options, lifetime: Duration) throws(EarlyExit) -> [Secret] {
        if let path = options.values["tokens"] { return try read(path) }
        let users = try options.number("users", 1...maximum, default: 100)
        let devices = try options.number("devices", 1...1000, default: 1)
        guard users * devices <= maximum else { throw .usage("--users times --devices is at most \(maximum)") }
        let prefix = options.values["user-prefix"] ?? "load-"
        let signer = try signer(options)
        let progress = ProgressLine(what: "signing tokens", total: users * devices)
        defer { progress.clear() }
        var tokens: [Secret] = []
        tokens.reserveCapacity(users * devices)
        let now = Date()
        // The users in turn, so that no two neighbours are one user's.
        for device in 1...devices {
            for user in 1...users {
                tokens.append(
                    Secret(
                        signer.token(
                            subject: "\(prefix)\(user)", deviceID: "\(prefix)\(user)-\(device)",
                            tier: options.values["tier"], now: now, lifetime: lifetime)))
                progress.update(tokens.count)
            }
        }
        return tokens
    }

    /// One a line.
    private static func read(_ path: String) throws(EarlyExit) -> [Secret] {
        let lines = try LoadFile.lines(path, option: "tokens", maximumBytes: maximumFileBytes)
        guard lines.count <= maximum else { throw .failure("\(path) has more than \(maximum) tokens") }
        let isToken = { (line: String) in line.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F } }
        guard let fault = lines.firstIndex(where: { !isToken($0) }) else { return lines.map { Secret($0) } }
        throw .failure("\(path) has no token in line \(fault + 1) of those that are not empty")
    }

    private static func signer(_ options: Options) throws(EarlyExit) -> TokenSigner {
        guard let file = options.values["settings"] else {
            guard let path = options.values["signing-key"], let issuer = options.values["issuer"],
                let audience = options.values["audience"]
            else {
                throw .usage(
                    "this mix needs tokens: --settings FILE signs them with an issuer's secret, --signing-key FILE with a"
                        + " private key (and --issuer and --audience, or --settings), and --tokens FILE has them")
            }
            return TokenSigner(issuer: issuer, audience: audience, key: try key(at: path, nil, options))
        }
        let settings = try SettingsFile.require(file)
        guard let issuer = TokenMint.issuer(named: options.values["issuer"], in: settings) else {
            throw .failure("the settings have no such issuer")
        }
        let key: TokenSigningKey
        if let path = options.values["signing-key"] {
            key = try Self.key(at: path, issuer, options)
        } else if let secret = TokenMint.signingKey(of: issuer) {
            key = secret
        } else {
            throw .failure(
                "the settings have no secret of \(issuer.name): give its private key with --signing-key, or tokens")
        }
        return TokenSigner(
            issuer: issuer.name, audience: options.values["audience"] ?? issuer.audiences[0], key: key,
            claims: issuer.claims)
    }

    /// - Parameter issuer: whose algorithms are preferred.
    private static func key(at path: String, _ issuer: Issuer?, _ options: Options) throws(EarlyExit) -> TokenSigningKey
    {
        let bytes = try LoadFile.bytes(path, option: "signing-key", maximumBytes: 1 << 16)
        do throws(KeyError) {
            let key = try PrivateKey(pem: bytes)
            for algorithm in SignatureAlgorithm.allCases where issuer?.algorithms.contains(algorithm) ?? false {
                if let key = try? TokenSigningKey(key, algorithm: algorithm, keyID: options.values["key-id"]) {
                    return key
                }
            }
            return try TokenSigningKey(key, keyID: options.values["key-id"])
        } catch {
            throw .failure("\(path) \(error)")
        }
    }
}

/// What a load reads besides settings.
enum LoadFile {
    static func bytes(_ path: String, option: String, maximumBytes: Int) throws(EarlyExit) -> [UInt8] {
        guard let data = try? Data(contentsOf: URL(fileURLWithPath: path)) else {
            throw .failure("\(path) of --\(option) cannot be read")
        }
        guard data.count <= maximumBytes else {
            throw .failure("\(path) of --\(option) is larger than \(maximumBytes) bytes")
        }
        return Array(data)
    }

    /// Those that are not empty.
    static func lines(_ path: String, option: String, maximumBytes: Int) throws(EarlyExit) -> [String] {
        let bytes = try bytes(path, option: option, maximumBytes: maximumBytes)
        let lines = bytes.split(separator: 0x0A).map { line in
            String(decoding: line.last == 0x0D ? line.dropLast() : line, as: UTF8.self)
        }
        .filter { !$0.isEmpty }
        guard !lines.isEmpty else { throw .failure("\(path) of --\(option) is empty") }
        return lines
    }
}
