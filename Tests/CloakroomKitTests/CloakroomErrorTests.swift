import CloakroomWire
import Testing

@testable import CloakroomKit

@Suite struct CloakroomErrorTests {
    @Test(arguments: ErrorCode.allCases)
    func `every code of the worker is one of the kit's`(code: ErrorCode) {
        #expect(CloakroomError.Code.known.contains(CloakroomError.Code(rawValue: code.rawValue)))
    }

    @Test func `an error's text has the cause and what the operator looks for, once`() {
        let error = CloakroomError(
            .tooManyRequests, "Too many renewal requests", status: 429, serverCode: "too_many_requests", requestID: "3f"
        )
        #expect("\(error)" == "too_many_requests: Too many renewal requests (status 429, request 3f)")
    }
}
