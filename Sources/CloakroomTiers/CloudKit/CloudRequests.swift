/// Requests within CloudKit's limits, sent again when CloudKit is busy.
///
/// Source of the limits: Apple, "CKModifyRecordsOperation": 400 items and 2 MB a request, assets aside.
struct CloudRequests: Sendable {
    static let maximumRecords = 400
    static let maximumBytes = 2_000_000
    static let maximumAttempts = 4
    /// A longer wait is the caller's.
    static let maximumWait = Duration.seconds(30)

    /// The waits between attempts: another function in tests.
    let sleep: @Sendable (Duration) async throws -> Void

    /// Sends a request until it succeeds, or fails in a way that waiting does not help.
    func send<Value>(
        _ request: () async throws(CloudFault) -> Value
    ) async throws(CloudFault) -> Value {
        var attempt = 0
        while true {
            do throws(CloudFault) {
                return try await request()
            } catch {
                try await wait(after: error, attempt: attempt)
                attempt += 1
            }
        }
    }

    /// Sends one request for many items, or several where they are too many, and gives each item its own result.
    ///
    /// - Parameter name: of the record; no two items have the same.
    func send<Item, Output>(
        _ items: [Item], name: (Item) -> String, byteCount: (Item) -> Int,
        _ request: ([Item]) async throws(CloudFault) -> [String: Result<Output, CloudFault>]
    ) async -> [String: Result<Output, CloudFault>] {
        var results: [String: Result<Output, CloudFault>] = [:]
        var open = Self.chunks(items, byteCount: byteCount).reversed().map { (items: $0, attempt: 0) }
        while let (items, attempt) = open.popLast() {
            var responses: [String: Result<Output, CloudFault>]
            do throws(CloudFault) {
                responses = try await request(items)
            } catch .partialFailure(let faults) where !faults.isEmpty {
                // The others are sent again: what is saved or deleted already does no harm.
                responses = faults.mapValues { .failure($0) }
            } catch {
                responses = Dictionary(items.map { (name($0), .failure(error)) }) { first, _ in first }
            }
            var again: [Item] = []
            var wait = CloudFault.busy(retryAfter: .zero)
            var isTooLarge = false
            for item in items {
                let result = responses[name(item)] ?? .failure(.busy(retryAfter: nil))
                results[name(item)] = result
                guard case .failure(let fault) = result else { continue }
                if fault == .limitExceeded, items.count > 1 {
                    isTooLarge = true
                    again.append(item)
                } else if let delay = Self.delay(after: fault, attempt: attempt) {
                    if case .busy(let longest) = wait, delay > longest ?? .zero { wait = .busy(retryAfter: delay) }
                    again.append(item)
                }
            }
            guard !again.isEmpty else { continue }
            if isTooLarge {
                let half = (again.count + 1) / 2
                if half < again.count { open.append((Array(again[half...]), attempt)) }
                open.append((Array(again[..<half]), attempt))
                continue
            }
            do throws(CloudFault) {
                try await self.wait(after: wait, attempt: attempt)
                open.append((again, attempt + 1))
            } catch .cancelled {
                for item in again { results[name(item)] = .failure(.cancelled) }
            } catch {}
        }
        return results
    }

    /// - Throws: the fault, when it is not to be waited for.
    private func wait(after fault: CloudFault, attempt: Int) async throws(CloudFault) {
        guard let delay = Self.delay(after: fault, attempt: attempt) else { throw fault }
        do { try await sleep(delay) } catch { throw .cancelled }
    }

    /// - Returns: `nil` when another attempt makes no sense, or only after a longer time.
    private static func delay(after fault: CloudFault, attempt: Int) -> Duration? {
        guard attempt + 1 < maximumAttempts else { return nil }
        let own = Duration.seconds(1 << attempt)
        switch fault {
        case .busy(let told): return (told ?? own) <= maximumWait ? told ?? own : nil
        case .responseLost: return own
        default: return nil
        }
    }

    private static func chunks<Item>(_ items: [Item], byteCount: (Item) -> Int) -> [[Item]] {
        var chunks: [[Item]] = []
        var bytes = 0
        for item in items {
            let count = byteCount(item)
            if let last = chunks.last, last.count < maximumRecords, bytes + count <= maximumBytes {
                chunks[chunks.count - 1].append(item)
                bytes += count
            } else {
                chunks.append([item])
                bytes = count
            }
        }
        return chunks
    }
}
