import CloakroomCrypto
import CloakroomKit
import Foundation

/// Where a rotation can be interrupted.
enum RotationPoint: Sendable, CaseIterable {
    case begun
    /// The new file is beside the former one.
    case sealed
    /// The vault holds the new master key.
    case vaultReplaced
    /// The new file has taken the place of the former one.
    case renamed
}

extension MessageKeys {
    /// Seals the keys that are left under a new master key, which replaces the former one in the vault.
    ///
    /// At each moment one of the two files opens with what the vault holds: interrupted, either the former state or the new
    /// one is found at the next start. One at a time.
    ///
    /// - Parameter point: called at each of its steps.
    /// - Throws: ``CloakroomError``: ``CloakroomError/Code/vaultLocked``, ``CloakroomError/Code/diskFull``,
    ///   ``CloakroomError/Code/storeFailed``, also after ``erase()``. Nothing is lost; repeat it later, and not at once:
    ///   ``rotationDelay(at:)`` counts from those that succeeded.
    func rotate(
        now: ContinuousClock.Instant = .now, at point: (RotationPoint) throws(CloakroomError) -> Void = { _ in }
    ) async throws(CloakroomError) {
        precondition(!isRotating, "one rotation at a time")
        isRotating = true
        defer { endRotation() }
        try requireOpen()
        try point(.begun)
        if try await completeFormer(), !table.isStale {
            lastRotation = now
            return
        }
        try requireOpen()
        let fresh = SealingKey.random()
        try freeingSpace { () throws(CloakroomError) in
            try write(to: Self.nextFile, under: fresh, isStale: false)
        }
        next = fresh
        isNextStale = false
        try point(.sealed)
        try await replace(with: fresh)
        try requireOpen()
        try point(.vaultReplaced)
        try complete(fresh)
        lastRotation = now
        try point(.renamed)
        keepReserve()
    }

    /// Completes a rotation that failed after the vault had its new key.
    ///
    /// - Returns: whether there was one.
    private func completeFormer() async throws(CloakroomError) -> Bool {
        guard let next, try await vault.master() == .key(next.reveal()) else { return false }
        try requireOpen()
        try complete(next)
        return true
    }

    private func endRotation() {
        isRotating = false
        for continuation in waiting { continuation.resume() }
        waiting = []
    }

    private func replace(with fresh: SealingKey) async throws(CloakroomError) {
        do {
            try await storeFreeingSpace(fresh)
        } catch {
            // Which of the two does it hold?
            switch try? await vault.master() {
            case .key(fresh.reveal()): return
            case .key(master.reveal()):
                next = nil
                isNextStale = false
                try? converted { () throws(PrivateFolderError) in try folder.remove(Self.nextFile) }
            // Until that is known, new keys go to both files.
            default: break
            }
            throw error
        }
    }

    private func storeFreeingSpace(_ fresh: SealingKey) async throws(CloakroomError) {
        do { try await vault.store(master: fresh) } catch {
            guard error.code == .diskFull, reserveByteCount > 0 else { throw error }
            removeReserve()
            try await vault.store(master: fresh)
        }
    }

    func freeingSpace(_ work: () throws(CloakroomError) -> Void) throws(CloakroomError) {
        do throws(CloakroomError) { try work() } catch {
            guard error.code == .diskFull, reserveByteCount > 0 else { throw error }
            removeReserve()
            try work()
        }
    }
}

/// Space that is kept for rotations: a full disk must not keep keys from being put out of reach.
extension MessageKeys {
    static let reserveFile = "keys.reserve"

    /// Makes it larger when the keys have outgrown it. On a disk without space there is none.
    func keepReserve() {
        let needed = table.byteCount + 16_384
        guard reserveByteCount < needed else { return }
        // Some more, or it would be written again for each new key.
        let count = (needed + 16_384) / 4096 * 4096
        // Random bytes: file systems store zeros without using space.
        let isKept = (try? folder.write(randomBytes(count), to: Self.reserveFile)) != nil
        if isKept { reserveByteCount = count }
    }

    private func removeReserve() {
        try? folder.remove(Self.reserveFile)
        reserveByteCount = 0
    }
}
