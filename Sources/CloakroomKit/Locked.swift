import Foundation

/// A value behind a lock; `Mutex` is not there on the systems that the kit supports.
///
/// `@unchecked`: the lock guards the value.
package final class Locked<Value>: @unchecked Sendable {
    private let lock = NSLock()
    private var value: Value

    package init(_ value: Value) { self.value = value }

    package func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
        try lock.withLock { try body(&value) }
    }
}
