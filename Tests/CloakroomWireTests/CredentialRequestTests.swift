import CloakroomWire
import Testing

struct CredentialRequestTests {
    @Test(arguments: [
        ("", CredentialRequest()), ("{}", CredentialRequest()),
        (#"{"scope":"upload"}"#, CredentialRequest(scope: "upload")),
        (#" {"lifetimeSeconds": 900, "scope": "read"} "#, CredentialRequest(scope: "read", lifetimeSeconds: 900)),
        (#"{"lifetimeSeconds":9e2}"#, CredentialRequest(lifetimeSeconds: 900)),
        (#"{"lifetimeSeconds":-1}"#, CredentialRequest(lifetimeSeconds: -1)),
    ])
    func `reads what less is asked for`(text: String, expected: CredentialRequest) throws {
        #expect(try CredentialRequest(parsing: Array(text.utf8)) == expected)
    }

    @Test(arguments: [
        " ", "null", "[]", "7", #""read""#, "{", #"{"scope":7}"#, #"{"scope":["read"]}"#,
        #"{"scop":"read"}"#, #"{"Scope":"read"}"#, #"{"scope":"read","scope":"full"}"#,
        #"{"lifetimeSeconds":"900"}"#, #"{"lifetimeSeconds":900.5}"#,
        #"{"lifetimeSeconds":1e300}"#, #"{"scope":"read"} x"#, #"{scope:"read"}"#,
    ])
    func `refuses what it does not understand, so that nobody gets more than was meant`(text: String) {
        #expect(throws: CredentialRequest.ParsingError.self) { try CredentialRequest(parsing: Array(text.utf8)) }
    }
}
