import CloakroomKit

/// Deletions that the database has no room for are noted with the keys: their file gets smaller by those that are dropped,
/// and has space that is kept for it.
extension MessageKeys {
    /// Drops the keys of a conversation's messages, and notes that all up to one of them are deleted.
    ///
    /// It is sure to last when ``writeDeletions(now:)`` has returned `true`.
    ///
    /// - Parameter conversation: its row.
    func delete(_ conversation: Int64, through sequence: Int64) {
        drop(table.ids.filter { $0.conversation == conversation })
        table.deletions[conversation] = max(sequence, table.deletions[conversation] ?? sequence)
        table.isStale = true
        isNextStale = next != nil
        areDeletionsWritten = false
    }

    /// The database says so by now. What the file says goes when it is written next: to read it again deletes nothing else.
    func forgetDeletion(_ conversation: Int64) { table.deletions[conversation] = nil }

    /// Puts the keys that were dropped for deletions out of reach at once, and writes these down.
    ///
    /// When that fails, as with a vault that is locked, they are written all the same, and the keys go with the next
    /// rotation.
    ///
    /// - Returns: `false` when they could not be written at all: repeat it.
    @discardableResult
    func writeDeletions(now: ContinuousClock.Instant) async -> Bool {
        // One that has begun before knows nothing of them.
        while isRotating { await withCheckedContinuation { waiting.append($0) } }
        guard !areDeletionsWritten, !isErased else { return true }
        do throws(CloakroomError) { try await rotate(now: now) } catch {
            guard !isErased, !areDeletionsWritten else { return true }
            do throws(CloakroomError) { try freeingSpace { () throws(CloakroomError) in try write() } } catch {
                return false
            }
            areDeletionsWritten = true
            keepReserve()
        }
        return areDeletionsWritten
    }
}
