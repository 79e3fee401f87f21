import CloakroomKit
public import Foundation

/// Where the master key lies: one small value that is replaced as a whole. Each user has a vault of their own.
///
/// A former value must be out of reach once ``store(_:)`` has returned: what is erased rests on that.
public protocol KeyVault: Sendable {
    /// The value; `nil` when there is none: a vault that cannot be reached throws.
    ///
    /// - Throws: ``CloakroomError/Code/vaultLocked`` when it cannot be read now, ``CloakroomError/Code/storeFailed``.
    func load() async throws -> Data?
    /// Replaces the value. When it throws, the former one is still there.
    func store(_ value: Data) async throws
    /// Does nothing when there is none.
    func erase() async throws
}
