extension S3Fault {
    private static let result =
        "<CopyObjectResult\(XMLText.namespace)><ETag>&quot;9b2cf535f27731c974343645a3985328&quot;</ETag>"
        + "<LastModified>2009-10-28T22:32:00.000Z</LastModified></CopyObjectResult>"

    /// Instead of what was asked for.
    func reply(
        to request: S3Request, _ operation: S3Operation, requestID: String, region: String, now: Double
    ) -> S3Reply {
        switch self {
        case .internalError:
            S3Error(500, "InternalError", "We encountered an internal error. Please try again.").reply(requestID)
        case .serviceUnavailable: S3Error(503, "ServiceUnavailable", "Please try again.").reply(requestID)
        case .slowDown: Self.slow.reply(requestID)
        case .retryAfter:
            S3Error(503, "ServiceUnavailable", "Please try again.").reply(requestID).adding("Retry-After", "1")
        case .tooManyRequests: S3Error(429, "TooManyRequestsException", "Rate exceeded").reply(requestID)
        case .requestTimeout:
            S3Error(
                400, "RequestTimeout",
                "Your socket connection to the server was not read from or written to within the timeout period."
            ).reply(requestID)
        case .conflict:
            S3Error(
                409, "OperationAborted",
                "A conflicting conditional operation is currently in progress against this resource. Please try again."
            ).reply(requestID)
        case .badGateway: Self.page(502, "Bad Gateway")
        case .gatewayTimeout: Self.page(504, "Gateway Time-out")
        case .pageNotFound: Self.page(404, "Not Found")
        case .emptyNotFound: S3Reply(404)
        case .okWithError:
            S3Reply(200, xml: S3Error(500, "InternalError", "We encountered an internal error.").xml(requestID))
                .chunked
        case .okWithSlowDown: S3Reply(200, xml: Self.slow.xml(requestID)).chunked
        case .okEmpty: S3Reply(200)
        case .okHTML: Self.page(200, "Welcome")
        case .okTruncated: S3Reply(200, xml: String(Self.result.prefix(150))).chunked
        case .okWithoutTag: S3Reply(200, xml: "<CopyObjectResult\(XMLText.namespace)></CopyObjectResult>").chunked
        case .okEntityBomb: S3Reply(200, fields: [], body: Array(Self.bomb.utf8))
        case .okHuge: S3Reply(200, xml: Self.result).padded(50 << 20)
        case .reset: S3Reply(200).delivered(.reset)
        case .hang: S3Reply(200).delivered(.silence)
        case .halfAnswer: S3Reply(200, xml: Self.result).delivered(.half)
        case .leadingWhitespace, .trailingWhitespace, .resetAfterwards: S3Reply(200)
        case .accessDenied: S3Error.accessDenied.reply(requestID)
        case .invalidObjectState:
            S3Error(403, "InvalidObjectState", "The operation is not valid for the object's storage class").reply(
                requestID)
        case .expiredToken: S3Error(400, "ExpiredToken", "The provided token has expired.").reply(requestID)
        case .requestTimeTooSkewed:
            S3Error(
                403, "RequestTimeTooSkewed",
                "The difference between the request time and the current time is too large.",
                details: [("ServerTime", S3Timestamp(now).iso), ("MaxAllowedSkewMilliseconds", "900000")]
            ).reply(requestID)
        case .noSuchBucket: S3Error.noSuchBucket(request.bucket).reply(requestID)
        case .wrongRegion:
            S3Error(
                400, "AuthorizationHeaderMalformed",
                "The authorization header is malformed; the region is wrong; expecting 'eu-south-9'",
                details: [("Region", "eu-south-9")]
            ).reply(requestID)
        case .permanentRedirect:
            S3Error(
                301, "PermanentRedirect",
                "The bucket you are attempting to access must be addressed using the specified endpoint.",
                details: [("Endpoint", "\(request.bucket).s3.eu-south-9.amazonaws.com"), ("Bucket", request.bucket)]
            ).reply(requestID).adding("x-amz-bucket-region", "eu-south-9")
        case .temporaryRedirect:
            S3Error(307, "TemporaryRedirect", "Please re-send this request to the specified temporary endpoint.")
                .reply(requestID).adding("Location", request.target)
        case .preconditionFailed:
            S3Error.preconditionFailed("x-amz-copy-source-If-Match").reply(requestID)
        case .signatureDoesNotMatch:
            S3Error(403, "SignatureDoesNotMatch", "The request signature we calculated does not match.").reply(
                requestID)
        case .kmsDisabled: S3Error(400, "KMS.DisabledException", "The key is disabled.").reply(requestID)
        }
    }

    /// To the answer of a request that has been carried out.
    func spoil(_ reply: inout S3Reply) {
        let blank = [UInt8](repeating: UInt8(ascii: "\n"), count: 64)
        switch self {
        case .leadingWhitespace where !reply.body.isEmpty: reply.body = blank + reply.body
        case .trailingWhitespace where !reply.body.isEmpty: reply.body += blank
        case .resetAfterwards: reply.delivery = .reset
        default: break
        }
    }

    private static let slow = S3Error(503, "SlowDown", "Please reduce your request rate.")

    private static func page(_ status: Int, _ title: String) -> S3Reply {
        S3Reply(
            status, fields: [.init(name: "Content-Type", value: "text/html")],
            body: Array(
                "<html>\r\n<head><title>\(title)</title></head>\r\n<body><hr><center>nginx</center></body></html>".utf8)
        )
    }

    /// "Billion laughs": ten entities, each ten of the one before.
    private static let bomb: String = {
        let entities = (1...9).map { "<!ENTITY l\($0) \"\(String(repeating: "&l\($0 - 1);", count: 10))\">" }
        return "<?xml version=\"1.0\"?><!DOCTYPE CopyObjectResult [<!ENTITY l0 \"ha\">\(entities.joined())]>"
            + "<CopyObjectResult><ETag>&l9;</ETag></CopyObjectResult>"
    }()
}

extension S3Error {
    fileprivate func reply(_ requestID: String) -> S3Reply { reply(requestID: requestID) }
    fileprivate func xml(_ requestID: String) -> String { xml(requestID: requestID) }
}

extension S3Reply {
    fileprivate var chunked: S3Reply {
        var reply = self
        reply.isChunked = true
        return reply
    }

    fileprivate func adding(_ name: String, _ value: String) -> S3Reply {
        var reply = self
        reply.add(name, value)
        return reply
    }

    fileprivate func padded(_ count: Int) -> S3Reply {
        var reply = self
        reply.padding = count
        return reply
    }

    fileprivate func delivered(_ delivery: Delivery) -> S3Reply {
        var reply = self
        reply.delivery = delivery
        return reply
    }
}
