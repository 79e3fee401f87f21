import Foundation
import Synchronization
import Testing

/// Real parts together: the worker as it is built, nginx, Redis, an S3 and STS server. One test at a time, so that what
/// they measure is theirs.
@Suite(.serialized, .realParts)
enum EndToEnd {
    /// - Throws: why there is none, in words.
    static func s3() throws -> SeaweedFS { try RealServices.s3.withLock { try $0.get() } }

    /// The second store, started at the first call.
    ///
    /// - Throws: why there is none, in words.
    static func ceph() throws -> Ceph {
        try RealServices.ceph.withLock { server in
            let ceph = server ?? Result { try Ceph() }
            server = ceph
            return try ceph.get()
        }
    }
}

/// Starts the S3 servers once for all tests; when they are done, looks through everything that was logged.
struct RealServices: SuiteTrait, TestScoping {
    fileprivate static let s3 = Mutex<Result<SeaweedFS, any Error>>(
        .failure(MissingProgramError(description: "the S3 server runs only while the suite does")))
    /// `nil` before a test wants it.
    fileprivate static let ceph = Mutex<Result<Ceph, any Error>?>(nil)

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        try await withTaskExecutorPreference(OwnThread()) { try await run(function) }
    }

    private func run(_ function: @concurrent @Sendable () async throws -> Void) async throws {
        Self.s3.withLock { $0 = Result { try SeaweedFS() } }
        defer {
            Self.s3.withLock { server in
                if case .success(let started) = server { started.stop() }
                server = .failure(MissingProgramError(description: "the S3 server has stopped"))
            }
            Self.ceph.withLock { server in
                if case .success(let started) = server { started.stop() }
                server = .failure(MissingProgramError(description: "Ceph has stopped"))
            }
            if ProcessInfo.processInfo.environment["CLOAKROOM_KEEP_TESTS"] == nil { RunFolder.remove() }
        }
        try await function()
        try RunLogs.check()
    }
}

extension Trait where Self == RealServices {
    fileprivate static var realParts: Self { Self() }
}
