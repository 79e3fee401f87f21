import CloakroomCrypto
import CloakroomHTTP

extension S3Client {
    /// - Returns: an empty configuration when the bucket has none.
    package func cors(deadline: ContinuousClock.Instant) async throws(AWSError) -> CORSConfiguration {
        try await bucketCall("GET", "cors", deadline) { response throws(AWSError) in try CORSConfiguration(response) }
    }

    /// Puts the configuration in place of one that was read, unless it has changed meanwhile; one without rules is removed.
    ///
    /// S3 knows no condition here, so it is read once more right before; the moment in between stays.
    /// - Throws: ``AWSError``: code `ChangedMeanwhile`; `CORSRuleCount` for more rules than S3 takes.
    package func put(
        _ cors: CORSConfiguration, inPlaceOf former: CORSConfiguration, deadline: ContinuousClock.Instant
    ) async throws(AWSError) {
        guard cors.rules.count <= CORSConfiguration.maximumRules else {
            throw AWSError(.refused, status: 400, code: "CORSRuleCount")
        }
        guard try await self.cors(deadline: deadline) == former else {
            throw AWSError(.refused, status: 412, code: "ChangedMeanwhile")
        }
        guard !cors.rules.isEmpty else {
            return try await bucketCall("DELETE", "cors", deadline, decode: Self.done)
        }
        let body = cors.document
        try await bucketCall(
            "PUT", "cors", fields: Checksum.fields(of: body), body: body, deadline, decode: Self.done)
    }
}
