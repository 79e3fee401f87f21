import CloakroomAWS
import CloakroomHTTP
import CloakroomLoop
import CloakroomWire

/// The wire of Uppy's server, Companion, for `@uppy/aws-s3` 4 and 5. Its credentials are a vending route.
extension CloakroomService {
    /// `GET /companion/s3/params`.
    func companionForm(_ request: Request) -> RequestStep {
        guard let uploads = dependencies.uploader.companion else { return .done(.noSuchRoute) }
        return identified(request) { [self] in
            let rules = dependencies.uploader.rules
            let asked = Result { () throws(UploadRules.Refusal) in
                try CompanionParameters(query: request.query, rules: rules)
            }
            return uploading(asked, bytes: { _ in rules.assumedBytes }) {
                [self] (upload, subject, entitlement) async throws(AWSError) in
                let form = try await uploads.form(upload)
                return handedOut(
                    .json(form.body.encoded), form.objectKey, until: form.expiration, subject, entitlement, request)
            }
        }
    }

    /// `POST /companion/s3/multipart`.
    func beginCompanionUpload(_ request: Request) -> RequestStep {
        guard let uploads = dependencies.uploader.companion else { return .done(.noSuchRoute) }
        guard request.isJSON else { return .done(.notJSON) }
        return identified(request) { [self] in
            let rules = dependencies.uploader.rules
            let asked = Result { () throws(UploadRules.Refusal) in
                try CompanionParameters(parsing: request.body, rules: rules)
            }
            return uploading(asked, bytes: { _ in rules.assumedBytes }) {
                (upload, subject, _) async throws(AWSError) in
                .answered(.json(try await uploads.begin(upload, for: subject.userID).encoded))
            }
        }
    }

    /// `GET` and `DELETE /companion/s3/multipart/{id}`; the latter also for those who may store nothing more.
    func companionUpload(_ request: Request, id: String) -> RequestStep {
        let aborts = request.method == "DELETE"
        return companion(request, id: id, stores: !aborts) { (uploads, ticket, _, _) async throws(AWSError) in
            guard aborts else {
                guard let parts = try await uploads.parts(of: ticket) else { return .answered(.noSuchUpload) }
                return .answered(.json(parts.encoded))
            }
            guard try await uploads.abort(ticket) else { return .answered(.noSuchUpload) }
            return .answered(.json(Array("{}".utf8)))
        }
    }

    /// `GET /companion/s3/multipart/{id}/{number}`.
    func companionPart(_ request: Request, id: String, number: String) -> RequestStep {
        companion(request, id: id) { [self] (uploads, ticket, subject, entitlement) async throws(AWSError) in
            guard let number = QueryParameters.partNumber(number), number <= uploads.maximumPartNumber else {
                return .answered(RouteResponse(.partNumber(maximum: uploads.maximumPartNumber)))
            }
            let signed = try await uploads.urls([number], of: ticket)
            let body = CompanionPartURLBody(url: signed.urls[number] ?? "", expires: signed.expires)
            return handedOut(
                .json(body.encoded), ticket.objectKey, until: signed.expiration, subject, entitlement, request)
        }
    }

    /// `GET /companion/s3/multipart/{id}/batch`.
    func companionBatch(_ request: Request, id: String) -> RequestStep {
        companion(request, id: id) { [self] (uploads, ticket, subject, entitlement) async throws(AWSError) in
            guard let numbers = QueryParameters(form: request.query)?.partNumbers,
                numbers.allSatisfy({ $0 <= uploads.maximumPartNumber })
            else { return .answered(RouteResponse(.partNumber(maximum: uploads.maximumPartNumber))) }
            let signed = try await uploads.urls(numbers, of: ticket)
            return handedOut(
                .json(CompanionPartURLsBody(urls: signed.urls).encoded), ticket.objectKey, until: signed.expiration,
                subject, entitlement, request)
        }
    }

    /// `POST /companion/s3/multipart/{id}/complete`.
    func completeCompanionUpload(_ request: Request, id: String) -> RequestStep {
        guard request.isJSON else { return .done(.notJSON) }
        return companion(request, id: id) { [self] (uploads, ticket, subject, entitlement) async throws(AWSError) in
            guard let asked = try? CompanionCompletionRequest(parsing: request.body) else {
                return .answered(RouteResponse(.malformedBody))
            }
            var permit: LimitPermit?
            // What is not given back.
            defer { permit?.keep() }
            let outcome = try await uploads.complete(
                ticket, asked.parts,
                admit: { bytes in
                    let late = self.permit(.upload(bytes: bytes), subject, entitlement)
                    permit = late
                    return await late.isGranted()
                }, giveBack: { permit?.giveBack() })
            switch outcome {
            case .completed(let body):
                var answer = RouteResponse.json(body.encoded)
                answer.event = .uploadCompleted(objectKey: body.key)
                return .answered(answer)
            case .incomplete(let fault): return .answered(.incomplete(fault))
            case .notAdmitted: return .answered(permit?.refusal ?? .noSuchUpload)
            case .gone: return .answered(.noSuchUpload)
            }
        }
    }

    /// For an upload that has begun: the request counts, its bytes were counted then.
    ///
    /// - Parameters:
    ///   - stores: whether the request may end in something being stored; else it gives the upload up.
    ///   - work: for the user who began it; for others no request is sent to S3.
    private func companion(
        _ request: Request, id: String, stores: Bool = true,
        _ work:
            @escaping @LoopActor @Sendable (CompanionUploads, CompanionTicket, Subject, Entitlement)
            async throws(AWSError) -> RequestOutcome
    ) -> RequestStep {
        guard let uploads = dependencies.uploader.companion else { return .done(.noSuchRoute) }
        return identified(request) { [self] in
            RequestPlan(cost: stores ? .upload(bytes: 0) : .uploadGivenUp) { [self] subject, entitlement in
                if stores, let refusal = entitlement.refusal(of: .upload) { return .answered(refused(refusal)) }
                let key = QueryParameters(form: request.query)?["key"]
                guard let ticket = uploads.ticket(id, key: key, of: subject.userID) else {
                    return .answered(.noSuchUpload)
                }
                return .asking { () throws(AWSError) in try await work(uploads, ticket, subject, entitlement) }
            }
        }
    }
}

extension RouteResponse.Fault {
    /// The error as Uppy reads it: the sentence as `message` too.
    var companionBody: [UInt8] {
        var body = body
        body.message = body.error
        return body.encoded
    }
}
