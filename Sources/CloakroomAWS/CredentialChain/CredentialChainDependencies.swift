import CloakroomCrypto
package import CloakroomHTTP
import CloakroomJSON

/// What the providers read, send and run; tests replace it.
package struct CredentialChainDependencies: Sendable {
    package var environment: AWSEnvironment
    /// The profile that the settings name; `nil`: `AWS_PROFILE`'s, else `default`.
    package var profile: String?
    /// A small file, whole; `nil` when it cannot be read. Called at a refresh only, never for a request.
    package var readFile: @Sendable (String) -> [UInt8]?
    /// Runs a program without a shell and gives what it wrote; bounded in time and size by itself.
    package var run: @Sendable ([String]) async throws(CredentialProviderError) -> [UInt8]
    package var transport: any Transport
    /// The regional STS, for roles.
    package var sts: Endpoint
    package var runtime: RuntimeDependencies
    /// On whose executor calls to STS run.
    package var isolation: (any Actor)?

    package init(
        environment: AWSEnvironment, profile: String? = nil, readFile: @escaping @Sendable (String) -> [UInt8]?,
        run: @escaping @Sendable ([String]) async throws(CredentialProviderError) -> [UInt8], transport: any Transport,
        sts: Endpoint, runtime: RuntimeDependencies = .init(), isolation: (any Actor)? = nil
    ) {
        self.environment = environment
        self.profile = profile
        self.readFile = readFile
        self.run = run
        self.transport = transport
        self.sts = sts
        self.runtime = runtime
        self.isolation = isolation
    }

    /// `~/` is the home folder, where there is one.
    func path(_ text: String) -> String {
        guard text.hasPrefix("~/"), let home = environment["HOME"] else { return text }
        return home + text.dropFirst()
    }

    /// A token of one line, read anew each time: rotation rewrites the file.
    func token(file: String, of variable: String) throws(CredentialProviderError) -> String {
        guard let bytes = readFile(path(file)) else {
            throw .failed("\(variable) names \(file), which cannot be read")
        }
        let text = String(decoding: bytes, as: UTF8.self)
        let token = text.trimmed
        guard (1...65_536).contains(token.utf8.count),
            token.utf8.allSatisfy({ isVisible($0) || $0 == 0x20 })
        else { throw .failed("\(variable) names \(file), which holds no token of one line") }
        return token
    }
}

extension StringProtocol {
    /// Without ASCII space, tabs and line ends around it.
    var trimmed: String {
        let bytes = Array(utf8)
        guard let first = bytes.firstIndex(where: { !isSpace($0) }), let last = bytes.lastIndex(where: { !isSpace($0) })
        else { return "" }
        return String(decoding: bytes[first...last], as: UTF8.self)
    }
}

/// The variables that AWS's SDKs read, as they were when the process started. Prints none of their values.
package struct AWSEnvironment: Sendable, CustomStringConvertible, CustomReflectable {
    private let variables: [String: String]

    /// - Parameter variables: the whole environment; only what is AWS's, and `HOME`, is kept.
    package init(_ variables: [String: String] = [:]) {
        self.variables = variables.filter { $0.key.hasPrefix("AWS_") || $0.key == "HOME" }
    }

    /// `nil` for a variable that is empty, too: so the SDKs take it.
    package subscript(name: String) -> String? { variables[name].flatMap { $0.isEmpty ? nil : $0 } }

    /// Whether a variable says `true`, in whatever case.
    func isTrue(_ name: String) -> Bool { self[name]?.lowercased() == "true" }

    package var description: String { "AWSEnvironment(\(variables.keys.sorted().joined(separator: ", ")))" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// Credentials as JSON: what the container endpoint, the instance's metadata and a `credential_process` write.
enum CredentialDocument {
    private static let maximumBytes = 65_536

    /// - Parameters:
    ///   - tokenName: `Token` or `SessionToken`.
    ///   - requiresExpiration: whether token and expiration have to be there.
    /// - Throws: what is wrong with it, without showing any of it.
    static func credentials(
        in object: JSON.Object, tokenName: String, requiresExpiration: Bool
    ) throws(CredentialProviderError) -> Credentials {
        guard let id = word(object["AccessKeyId"]) else { throw .failed("the response has no AccessKeyId") }
        guard let secret = word(object["SecretAccessKey"]) else { throw .failed("the response has no SecretAccessKey") }
        let token = word(object[tokenName])
        if requiresExpiration, token == nil { throw .failed("the response has no \(tokenName)") }
        let end = object["Expiration"].flatMap { $0 == .null ? nil : $0 }
        let expiration = end?.string.flatMap { Timestamp(iso8601: $0) }?.date
        if requiresExpiration || end != nil, expiration == nil {
            throw .failed("the response has no Expiration that is a time in UTC")
        }
        return Credentials(
            accessKeyID: id, secretAccessKey: Secret(secret), sessionToken: token.map { Secret($0) },
            expiration: expiration)
    }

    static func object(_ bytes: [UInt8]) throws(CredentialProviderError) -> JSON.Object {
        guard bytes.count <= maximumBytes, let object = (try? JSON(parsing: bytes))?.object else {
            throw .failed("the response is no JSON object")
        }
        return object
    }

    /// Visible ASCII: it goes into header fields.
    private static func word(_ json: JSON?) -> String? {
        guard let text = json?.string, !text.isEmpty, text.utf8.allSatisfy(isVisible) else {
            return nil
        }
        return text
    }
}
