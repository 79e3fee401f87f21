import CloakroomAWS
import CloakroomWire
import CloakroomHTTP
import CloakroomLoop

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Leave to upload: by PUT, as a form, multipart.
extension CloakroomService {
    /// `GET /v2/attachments/presigned`.
    func presign(_ request: Request) -> RequestStep {
        identified(request) { [self] in
            let rules = dependencies.uploader.rules
            let asked = Result { () throws(UploadRules.Refusal) in
                try PutUploadParameters(query: request.query, rules: rules)
            }
            return uploading(asked, bytes: { $0.contentLength ?? rules.assumedBytes }) {
                [self] (upload, subject, entitlement) async throws(AWSError) in
                let body = try await dependencies.uploader.upload(upload, for: subject.userID)
                return handedOut(
                    .json(body), body.objectKey, until: body.expiresAt, subject, entitlement, request)
            }
        }
    }

    /// `POST /v2/attachments/presigned-post`.
    func presignPost(_ request: Request) -> RequestStep {
        guard request.isJSON else { return .done(.notJSON) }
        return identified(request) { [self] in
            let rules = dependencies.uploader.rules
            let asked = Result { () throws(UploadRules.Refusal) in
                try PostUploadParameters(parsing: request.body, rules: rules)
            }
            return uploading(asked, bytes: \.maximumBytes) {
                [self] (upload, subject, entitlement) async throws(AWSError) in
                let body = try await dependencies.uploader.upload(upload, for: subject.userID)
                return handedOut(
                    .json(body), body.objectKey, until: body.expiresAt, subject, entitlement, request)
            }
        }
    }

    /// `POST /v2/uploads`.
    func beginMultipart(_ request: Request) -> RequestStep {
        guard let uploads = dependencies.uploader.multipart else { return .done(.noMultipartUploads) }
        guard request.isJSON else { return .done(.notJSON) }
        return identified(request) { [self] in
            let rules = dependencies.uploader.rules
            let asked = Result { () throws(UploadRules.Refusal) in
                try MultipartUploadParameters(parsing: request.body, rules: rules)
            }
            return uploading(asked, bytes: \.plan.byteCount) { (upload, subject, _) async throws(AWSError) in
                .answered(.json(try await uploads.begin(upload, for: subject.userID)))
            }
        }
    }

    /// `GET /v2/uploads/{id}/parts`. Its URLs are what opens something: it is they that the audit tells of.
    func multipartParts(_ request: Request, id: String) -> RequestStep {
        multipart(request, id: id) { [self] (uploads, ticket, subject, entitlement) async throws(AWSError) in
            let numbers: ClosedRange<Int>
            do throws(UploadRules.Refusal) { numbers = try ticket.plan.numbers(query: request.query) } catch {
                return .answered(RouteResponse(error))
            }
            let body = try await uploads.parts(numbers, of: ticket)
            return handedOut(.json(body), ticket.objectKey, until: body.expiresAt, subject, entitlement, request)
        }
    }

    /// `POST /v2/uploads/{id}/complete`.
    func completeMultipart(_ request: Request, id: String) -> RequestStep {
        guard request.body.isEmpty || request.isJSON else { return .done(.notJSON) }
        return multipart(request, id: id) { (uploads, ticket, _, _) async throws(AWSError) in
            guard let asked = try? CompletionRequest(parsing: request.body) else {
                return .answered(RouteResponse(.malformedBody))
            }
            switch try await uploads.complete(ticket, etags: asked.etags) {
            case .completed(let body):
                var answer = RouteResponse.json(body)
                answer.event = .uploadCompleted(objectKey: body.objectKey)
                return .answered(answer)
            case .incomplete(let fault): return .answered(.incomplete(fault))
            case .gone: return .answered(.noSuchUpload)
            }
        }
    }

    /// `DELETE /v2/uploads/{id}`; also for those who may store nothing more.
    func abortMultipart(_ request: Request, id: String) -> RequestStep {
        multipart(request, id: id, stores: false) { (uploads, ticket, _, _) async throws(AWSError) in
            guard try await uploads.abort(ticket) else { return .answered(.noSuchUpload) }
            return .answered(.json(UploadedBody(objectKey: ticket.objectKey, assetUrl: nil)))
        }
    }

    /// - Parameters:
    ///   - bytes: what a request that can be read is charged for, besides itself, unless it ends in an error.
    ///   - work: for those who may store something.
    func uploading<Asked: Sendable>(
        _ asked: Result<Asked, UploadRules.Refusal>, bytes: (Asked) -> Int,
        _ work: @escaping @LoopActor @Sendable (Asked, Subject, Entitlement) async throws(AWSError) -> RequestOutcome
    ) -> RequestPlan {
        let cost = RateLimitCost.upload(bytes: (try? asked.get()).map(bytes) ?? 0)
        return RequestPlan(cost: cost, refundsQuantity: true) { [self] subject, entitlement in
            if let refusal = entitlement.refusal(of: .upload) { return .answered(refused(refusal)) }
            switch asked {
            case .failure(let refusal): return .answered(RouteResponse(refusal))
            case .success(let upload):
                return .asking { () throws(AWSError) in try await work(upload, subject, entitlement) }
            }
        }
    }

    /// For an upload that has begun: the request counts, its bytes were counted then.
    ///
    /// - Parameters:
    ///   - stores: whether the request may end in something being stored; else it gives the upload up.
    ///   - work: for the user who began it; for others no request is sent to S3.
    private func multipart(
        _ request: Request, id: String, stores: Bool = true,
        _ work:
            @escaping @LoopActor @Sendable (MultipartUploads, UploadTicket, Subject, Entitlement) async throws(AWSError)
            ->
            RequestOutcome
    ) -> RequestStep {
        guard let uploads = dependencies.uploader.multipart else { return .done(.noMultipartUploads) }
        return identified(request) { [self] in
            RequestPlan(cost: stores ? .upload(bytes: 0) : .uploadGivenUp) { [self] subject, entitlement in
                if stores, let refusal = entitlement.refusal(of: .upload) { return .answered(refused(refusal)) }
                guard let ticket = uploads.ticket(id, of: subject.userID) else { return .answered(.noSuchUpload) }
                return .asking { () throws(AWSError) in try await work(uploads, ticket, subject, entitlement) }
            }
        }
    }

    func handedOut(
        _ answer: RouteResponse, _ objectKey: String, until expiration: Date, _ subject: Subject,
        _ entitlement: Entitlement,
        _ request: Request
    ) -> RequestOutcome {
        .issued(
            AuditLog.Issuance(
                .upload(objectKey: objectKey, until: expiration), to: subject, tier: entitlement.tierName, by: request),
            answer)
    }
}

extension RequestOutcome {
    /// What is requested of S3 first.
    static func asking(
        _ work: @escaping @LoopActor @Sendable () async throws(AWSError) -> RequestOutcome
    ) -> RequestOutcome {
        .waiting {
            do throws(AWSError) { return try await work() } catch { return .answered(RouteResponse(error)) }
        }
    }
}

extension RouteResponse {
    static let noSuchUpload = error(.uploadNotFound, "No such upload")

    init(_ refusal: UploadRules.Refusal) {
        switch refusal {
        case .chatNotEnabled: self = .chatNotEnabled
        case .contentType:
            self = .error(.contentTypeNotAllowed, refusal.sentence)
            // 415 is for the type of the request's own body (RFC 9110 §15.5.16).
            response.status = ErrorCode.invalidRequest.status
        case .noContentType, .noType, .noLength, .length, .checksum, .purpose, .malformedQuery, .malformedBody,
            .partNumber, .metadata, .partNumbers:
            self = .error(.invalidRequest, refusal.sentence)
        }
    }

    /// What is retryable is 503; what S3 refuses is our misconfiguration.
    fileprivate init(_ fault: AWSError) {
        switch fault.kind {
        case .throttled, .transient, .noCredentials, .cancelled:
            self = .unavailable(retryAfter: fault.retryAfter ?? .seconds(1), reason: fault.code)
        case .staleCredentials, .skewedClock, .refused: self = .internalError(reason: fault.code)
        }
    }
}
