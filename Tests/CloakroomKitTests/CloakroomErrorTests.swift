import Testing

@testable import CloakroomKit

@Suite struct CloakroomErrorTests {
    @Test func `every code of the worker is a constant of the kit's`() {
        #expect(
            CloakroomError.Code.known == [
                .invalidRequest, .unauthorized, .sessionRevoked, .forbidden, .userDisabled, .subscriptionRequired,
                .storageQuotaExceeded, .notFound, .methodNotAllowed, .bodyTooLarge, .contentTypeNotAllowed,
                .uploadNotFound, .uploadIncomplete, .chatNotEnabled, .tooManyRequests, .unavailable, .internalError,
            ])
    }

    @Test func `an error's text has the cause and what the operator looks for, once`() {
        let error = CloakroomError(
            .tooManyRequests, "Too many renewal requests", status: 429, serverCode: "too_many_requests", requestID: "3f"
        )
        #expect("\(error)" == "too_many_requests: Too many renewal requests (status 429, request 3f)")
    }
}
