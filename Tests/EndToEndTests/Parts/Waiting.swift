import Foundation

/// Milliseconds of a clock that is never set.
func milliseconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) * 1000 + Double(time.tv_nsec) / 1_000_000
}

struct TimeoutError: Error, CustomStringConvertible {
    let description: String
}

/// Asks every few milliseconds until the answer is yes.
///
/// - Throws: ``TimeoutError``, naming `what`, after the deadline.
/// - Returns: how long it took, in milliseconds.
@discardableResult
func wait(
    for what: @autoclosure () -> String, within limit: Duration = .seconds(5), _ condition: () throws -> Bool
) throws -> Double {
    let start = milliseconds()
    let deadline = start + limit / .milliseconds(1)
    while try !condition() {
        guard milliseconds() < deadline else { throw TimeoutError(description: "not within \(limit): \(what())") }
        usleep(2000)
    }
    return milliseconds() - start
}

/// - Returns: what `body` gives, and how many milliseconds it took.
func timed<Value>(_ body: () throws -> Value) rethrows -> (value: Value, milliseconds: Double) {
    let start = milliseconds()
    let value = try body()
    return (value, milliseconds() - start)
}
