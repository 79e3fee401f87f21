import CloakroomAWS
import CloakroomHTTP
import Synchronization

/// Answers by what is asked, and remembers it.
final class FakeStore: Transport {
    private let asked = Mutex<[UpstreamRequest]>([])
    private let answer: @Sendable (UpstreamRequest) -> UpstreamResponse

    init(_ answer: @escaping @Sendable (UpstreamRequest) -> UpstreamResponse) { self.answer = answer }

    var requests: [UpstreamRequest] { asked.withLock { $0 } }

    func send(_ request: UpstreamRequest, timeout: Duration) async throws(TransportError) -> UpstreamResponse {
        if Task.isCancelled { throw .cancelled }
        asked.withLock { $0.append(request) }
        return answer(request)
    }
}

extension UpstreamRequest {
    /// Behind `?`.
    var query: Substring { target.split(separator: "?", maxSplits: 1).dropFirst().first ?? "" }

    /// What is asked, by the name of the operation.
    var operation: String {
        let query = query
        let isCopy = fields["x-amz-copy-source"] != nil
        return switch method {
        case "HEAD": "head_object"
        case "GET" where query == "tagging": "get_object_tagging"
        case "GET": "get_object"
        case "PUT" where query == "tagging": "put_object_tagging"
        case "PUT" where query.contains("partNumber=") && isCopy: "upload_part_copy"
        case "PUT" where isCopy: "copy_object"
        case "POST" where query == "uploads": "create_multipart_upload"
        case "POST" where query.hasPrefix("uploadId="): "complete_multipart_upload"
        case "DELETE" where query.hasPrefix("uploadId="): "abort_multipart_upload"
        default: "\(method) \(target)"
        }
    }

    var partNumber: Int? {
        query.split(separator: "&").first { $0.hasPrefix("partNumber=") }.flatMap { Int($0.dropFirst(11)) }
    }
}

extension FakeStore {
    /// Set once, for all to see.
    final class Flag: Sendable {
        private let state = Mutex(false)

        var isSet: Bool { state.withLock { $0 } }
        func set() { state.withLock { $0 = true } }
    }
}
