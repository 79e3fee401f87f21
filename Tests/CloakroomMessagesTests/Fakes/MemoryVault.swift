import CloakroomKit
import CloakroomMessages
import Foundation

/// A vault that a test can lock, empty and fill up.
actor MemoryVault: KeyVault {
    private(set) var value: Data?
    var failure: CloakroomError?

    init(_ value: Data? = nil) { self.value = value }

    func fail(with error: CloakroomError?) { failure = error }
    func put(_ value: Data?) { self.value = value }

    func load() throws -> Data? {
        if let failure { throw failure }
        return value
    }

    func store(_ value: Data) throws {
        if let failure { throw failure }
        self.value = value
    }

    func erase() throws { value = nil }
}
