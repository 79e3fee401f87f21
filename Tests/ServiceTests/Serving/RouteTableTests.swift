import CloakroomWire
import Testing

@testable import CloakroomServer

struct RouteTableTests {
    private let table = RouteTable()

    @Test func `finds every route by its template`() {
        for route in Route.allCases {
            let path = route.rawValue.replacing("{id}", with: "a-_1")
            #expect(table.match(path)?.route == route)
            #expect(table.match(path)?.id == (path == route.rawValue ? "" : "a-_1"))
        }
    }

    @Test(
        arguments: [
            ("/v2/uploads/x", .multipartUpload, "x"), ("/v2/uploads/parts", .multipartUpload, "parts"),
            ("/v2/uploads/{id}", .multipartUpload, "{id}"), ("/v2/uploads/parts/parts", .multipartParts, "parts"),
            ("/v2/uploads/%2F/complete", .multipartCompletion, "%2F"),
            ("/v2/uploads/e\u{301}\u{1F600}/complete", .multipartCompletion, "e\u{301}\u{1F600}"),
        ] as [(String, Route, String)])
    func `takes one segment for the id, as it was sent`(path: String, route: Route, id: String) {
        #expect(table.match(path) == RouteTable.Match(route: route, id: id))
    }

    @Test(arguments: [
        "", "/", "/v2/uploads/", "/v2/uploads//parts", "/v2/uploads/x/", "/v2/uploads/x/y", "/v2/uploads/x/parts/",
        "/v2/uploads/x/y/parts", "/v2/uploads//", "/v2/uploads/x//complete", "/V2/uploads/x", "v2/uploads/x",
    ])
    func `knows no other path`(path: String) { #expect(table.match(path) == nil) }
}
