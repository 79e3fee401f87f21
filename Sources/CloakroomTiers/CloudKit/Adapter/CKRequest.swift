#if canImport(CloudKit)
    import CloudKit
    import Foundation

    /// An operation of CloudKit, with the results of its records.
    struct CKRequest<Value: Sendable>: Sendable {
        private enum Event: Sendable {
            case record(String, Result<Value, CloudFault>)
            case end(CloudFault?)
        }

        private let events: AsyncStream<Event>.Continuation

        func add(_ id: CKRecord.ID, _ result: Result<Value, any Error>) {
            events.yield(.record(id.recordName, result.mapError { CloudFault($0) }))
        }

        func finish(_ result: Result<Void, any Error>) {
            switch result {
            case .success: events.yield(.end(nil))
            case .failure(let error): events.yield(.end(CloudFault(error)))
            }
            events.finish()
        }

        /// - Parameter prepare: sets what the operation calls; it calls ``finish(_:)`` last.
        static func run(
            _ operation: CKDatabaseOperation, on database: CKDatabase, prepare: (CKRequest) -> Void
        ) async throws(CloudFault) -> [String: Result<Value, CloudFault>] {
            let configuration = CKOperation.Configuration()
            // A lower one would leave it to the system when the operation runs.
            configuration.qualityOfService = .userInitiated
            configuration.timeoutIntervalForRequest = 60
            configuration.timeoutIntervalForResource = 3600
            operation.configuration = configuration
            let (stream, events) = AsyncStream<Event>.makeStream()
            prepare(CKRequest(events: events))
            // Also when the task is cancelled: the stream ends then, and without an end of the operation.
            events.onTermination = { [weak operation] termination in
                if case .cancelled = termination { operation?.cancel() }
            }
            database.add(operation)
            var results: [String: Result<Value, CloudFault>] = [:]
            var end: CloudFault? = .cancelled
            for await event in stream {
                switch event {
                case .record(let name, let result): results[name] = result
                case .end(let fault): end = fault
                }
            }
            switch end {
            case nil, .partialFailure: return results
            case let fault?: throw fault
            }
        }
    }
#endif
