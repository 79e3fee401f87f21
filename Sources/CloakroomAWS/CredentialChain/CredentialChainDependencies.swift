package import CloakroomHTTP

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
