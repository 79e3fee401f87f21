import CloakroomCrypto
import Foundation

@testable import CloakroomKit

/// A vendor that does what its script says, and counts.
actor ScriptedVendor: CredentialVendor {
    private let script: @Sendable (_ number: Int) async throws -> VendedCredentials
    private(set) var requests = 0
    private(set) var concurrency = 0
    private(set) var highestConcurrency = 0
    private var arrivals: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []

    /// - Parameter script: is told the number of the request, from 0.
    init(_ script: @escaping @Sendable (_ number: Int) async throws -> VendedCredentials) { self.script = script }

    func vendCredentials() async throws -> VendedCredentials {
        let number = requests
        requests += 1
        concurrency += 1
        highestConcurrency = max(highestConcurrency, concurrency)
        defer { concurrency -= 1 }
        for arrival in arrivals where arrival.count <= requests { arrival.continuation.resume() }
        arrivals.removeAll { $0.count <= requests }
        return try await script(number)
    }

    /// Comes back once so many requests have arrived, in all.
    func arrival(of count: Int) async {
        guard requests < count else { return }
        await withCheckedContinuation { arrivals.append((count, $0)) }
    }
}

extension VendedCredentials {
    /// Another one for each number.
    static func numbered(_ number: Int, until expiration: Date) -> VendedCredentials {
        VendedCredentials(
            accessKeyID: "ASIA\(number)", secretAccessKey: Secret("secret \(number)"),
            sessionToken: Secret("token \(number)"), expiration: expiration, region: "eu-central-1",
            bucket: "photos")
    }
}

extension FakeRuntime {
    func time(in duration: Duration) -> Date { wallTime.addingTimeInterval(duration / .seconds(1)) }
}

extension CloakroomError {
    static let vendorUnreachable = CloakroomError(.unreachable, "nobody there")
}
