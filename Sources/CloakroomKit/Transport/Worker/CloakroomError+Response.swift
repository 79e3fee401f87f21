import CloakroomWire
import Foundation

extension CloakroomError {
    static let timedOut = CloakroomError(.timedOut, "There was no response in time")

    /// - Parameter response: of the worker or of a proxy, with a status that is no success.
    init(_ response: HTTPResponse, now: Date) {
        let body = try? wireDecoder.decode(ErrorBody.self, from: response.body)
        let code: Code
        if let word = body?.code {
            let known = Code(rawValue: word)
            code = Code.known.contains(known) ? known : .unknown
        } else {
            code =
                response.status == 401 && !response.refusesToken
                ? .invalidResponse : Self.code(status: response.status, isOurs: body != nil)
        }
        self.init(
            code, body.map { Self.readable($0.error) } ?? "The response has status \(response.status) and no reason",
            status: response.status, serverCode: (body?.code).map(Self.readable),
            retryAfter: response.retryAfter(now: now),
            requestID: response.requestID)
    }

    init(_ error: HTTPTransportError) {
        switch error {
        case .unreachable: self.init(.unreachable, "The server cannot be reached")
        case .untrusted: self.init(.untrusted, "The server's certificate is not acceptable")
        case .timedOut: self = .timedOut
        case .interrupted: self.init(.unreachable, "The connection broke")
        case .tooLarge: self.init(.invalidResponse, "The response is too long")
        case .encoded: self.init(.invalidResponse, "The response came in a content coding")
        case .invalidRequest: self.init(.invalidRequest, "The request cannot be sent as it is")
        case .unreadableFile: self.init(.unreadableFile, "The file cannot be read, or has become shorter")
        case .unwritableFile(let isFull):
            self.init(isFull ? .diskFull : .unwritableFile, "The file cannot be written")
        case .notAllowedNow: self.init(.notAllowedNow, "The network may not be used now")
        case .cancelled: self = .cancelled
        }
    }

    /// What a status says by itself: much where the body is an error of a backend that has no codes, little where it is
    /// a page of a proxy.
    private static func code(status: Int, isOurs: Bool) -> Code {
        switch status {
        case 401: .unauthorized
        case 429: .tooManyRequests
        case 500 where isOurs: .internalError
        case 500...599: .unavailable
        case _ where !isOurs: .invalidResponse
        case 400, 422: .invalidRequest
        case 403: .forbidden
        case 404: .notFound
        case 405: .methodNotAllowed
        case 413: .bodyTooLarge
        case 415: .contentTypeNotAllowed
        default: .unknown
        }
    }

    /// What others wrote, fit for one line of a log.
    static func readable(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.prefix(200).map { $0.value < 0x20 ? " " : $0 }))
    }
}

extension HTTPResponse {
    /// Whether it is a word on a token: a proxy may ask for a name and a password instead, or show a page.
    var refusesToken: Bool {
        guard status == 401, self["Content-Type"]?.lowercased().hasPrefix("text/html") != true else { return false }
        return self["WWW-Authenticate"].map { $0.lowercased().hasPrefix("bearer") } ?? true
    }

    /// What the operator finds the request by.
    var requestID: String? {
        guard let id = self["X-Request-Id"] ?? self["x-amz-request-id"], (1...128).contains(id.utf8.count),
            id.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { return nil }
        return id
    }
}
