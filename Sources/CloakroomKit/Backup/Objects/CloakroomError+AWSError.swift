import CloakroomAWS

extension AWSError {
    /// Why a transfer had no response.
    convenience init(_ error: HTTPTransportError) {
        switch error {
        case .unreachable: self.init(.transient, code: "Unreachable")
        case .timedOut: self.init(.transient, code: "Timeout")
        case .interrupted: self.init(.transient, code: "Interrupted")
        case .untrusted: self.init(.refused, code: "Untrusted")
        case .tooLarge: self.init(.refused, code: "TooLarge")
        case .encoded: self.init(.refused, code: "EncodedResponse")
        case .invalidRequest: self.init(.refused, code: Self.unsendable)
        case .unreadableFile: self.init(.refused, code: "UnreadableFile")
        case .unwritableFile(isFull: false): self.init(.refused, code: "UnwritableFile")
        case .unwritableFile(isFull: true): self.init(.refused, code: "DiskFull")
        case .notAllowedNow: self.init(.refused, code: "NotAllowedNow")
        case .cancelled: self.init(.cancelled, code: "Cancelled")
        }
    }
}

extension CloakroomError {
    /// The only conversion of S3's errors to the kit's.
    ///
    /// - Parameter doing: such as `storing photos/u_1/…`.
    init(_ fault: AWSError, doing: String) {
        let code = Code(fault)
        self.init(
            code, "\(doing): \(fault.code)", status: fault.status == 0 ? nil : fault.status, serverCode: fault.code,
            retryAfter: fault.retryAfter)
    }
}

extension CloakroomError.Code {
    fileprivate init(_ fault: AWSError) {
        if let code = Self.byCode[fault.code] {
            self = code
            return
        }
        switch (fault.kind, fault.status) {
        case (.cancelled, _): self = .cancelled
        case (.throttled, _): self = .tooManyRequests
        case (.noCredentials, _): self = .unavailable
        case (_, 403), (.staleCredentials, _), (.skewedClock, _): self = .accessDenied
        // Until the operator corrects it, and no fault of this request.
        case _ where fault.concernsAllKeys: self = .unavailable
        case (_, 412): self = .conditionFailed
        // A success that says something else.
        case (.transient, 200..<300): self = .invalidResponse
        case (.transient, _), (_, 500...): self = .unavailable
        case (_, 400..<500): self = .invalidRequest
        case (.refused, _): self = .unknown
        }
    }

    private static let byCode: [String: Self] = [
        "Unreachable": .unreachable, "Interrupted": .unreachable, "Timeout": .timedOut, "DeadlineExceeded": .timedOut,
        "RequestTimeout": .timedOut, "Untrusted": .untrusted, "TooLarge": .bodyTooLarge,
        "EncodedResponse": .invalidResponse,
        AWSError.unsendable: .invalidRequest, "UnreadableFile": .unreadableFile, "UnwritableFile": .unwritableFile,
        "DiskFull": .diskFull, "NotAllowedNow": .notAllowedNow, "NoSuchKey": .noSuchObject,
        "InvalidObjectState": .archived, "ObjectNotInActiveTierError": .archived, "BadDigest": .checksumMismatch,
        "ChecksumMismatch": .checksumMismatch, "NoSuchUpload": .uploadNotFound, "InvalidPart": .uploadIncomplete,
        "InvalidPartOrder": .uploadIncomplete, "EntityTooSmall": .uploadIncomplete,
        "PreconditionFailed": .conditionFailed,
        "ExpiredToken": .accessDenied, "ExpiredTokenException": .accessDenied, "InvalidToken": .accessDenied,
        "InternalError": .unavailable, "ServiceUnavailable": .unavailable, "TokenRefreshRequired": .accessDenied,
        "UnexpectedRange": .invalidResponse,
    ]
}
