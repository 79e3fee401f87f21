import CloakroomAWS
import CloakroomHTTP
import Synchronization

/// Gives answers in the order in which they were written down, and remembers what was asked.
final class ScriptedTransport: Transport {
    private struct State {
        var answers: [Result<UpstreamResponse, TransportError>]
        var requests: [UpstreamRequest] = []
        var timeouts: [Duration] = []
    }

    private let state: Mutex<State>

    init(_ answers: [Result<UpstreamResponse, TransportError>]) { state = Mutex(State(answers: answers)) }

    convenience init(_ answers: UpstreamResponse...) { self.init(answers.map { .success($0) }) }

    var requests: [UpstreamRequest] { state.withLock { $0.requests } }
    var timeouts: [Duration] { state.withLock { $0.timeouts } }

    func send(_ request: UpstreamRequest, timeout: Duration) async throws(TransportError) -> UpstreamResponse {
        let answer = state.withLock { state in
            state.requests.append(request)
            state.timeouts.append(timeout)
            // The last answer stays.
            return state.answers.count > 1 ? state.answers.removeFirst() : state.answers.first
        }
        guard let answer else { throw .unreachable }
        return try answer.get()
    }
}

extension UpstreamResponse {
    static func xml(_ status: Int, _ text: String, fields: HeaderFields = [:]) -> UpstreamResponse {
        UpstreamResponse(status: status, fields: fields, body: Array(text.utf8))
    }

    /// As S3 writes it.
    static func s3Error(_ status: Int, _ code: String, _ more: String = "", fields: HeaderFields = [:]) -> Self {
        .xml(
            status,
            #"<?xml version="1.0" encoding="UTF-8"?>"# + "\n<Error><Code>\(code)</Code>\(more)"
                + "<RequestId>4442587FB7D0A2F9</RequestId></Error>", fields: fields)
    }

    /// As STS writes it.
    static func stsError(_ status: Int, _ code: String, fields: HeaderFields = [:]) -> Self {
        .xml(
            status,
            #"<ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><Error><Type>Sender</Type>"#
                + "<Code>\(code)</Code><Message>no</Message></Error><RequestId>c6104cbe</RequestId></ErrorResponse>",
            fields: fields)
    }

    static let copied = xml(
        200,
        """
        <?xml version="1.0" encoding="UTF-8"?>
        <CopyObjectResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">\
        <LastModified>2026-11-20T14:00:00.000Z</LastModified><ETag>&quot;9b2cf535f27731c974343645a3985328&quot;</ETag>\
        </CopyObjectResult>
        """, fields: ["x-amz-expiration": #"expiry-date="Mon, 21 Dec 2026 00:00:00 GMT", rule-id="month""#])

    static let selfCopyRefused = s3Error(
        400, "InvalidRequest",
        "<Message>This copy request is illegal because it is trying to copy an object to itself without changing the "
            + "object's metadata, storage class, website redirect location or encryption attributes.</Message>")
}
