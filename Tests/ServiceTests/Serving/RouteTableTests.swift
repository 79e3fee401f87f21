import CloakroomWire
import Testing

@testable import CloakroomServer

struct RouteTableTests {
    private let table = RouteTable()

    @Test func `finds every route by its template`() {
        for route in Route.allCases {
            let path = route.rawValue.replacing("{id}", with: "a-_1").replacing("{number}", with: "7")
            #expect(table.match(path)?.route == route)
            #expect(table.match(path)?.id == (path == route.rawValue ? "" : "a-_1"))
            #expect(table.match(path)?.number == (route == .companionPart ? "7" : ""))
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

    @Test func `has no route of Companion's where that is off`() {
        let table = RouteTable(hasCompanion: false)
        for route in Route.allCases {
            let path = route.rawValue.replacing("{id}", with: "a-_1").replacing("{number}", with: "7")
            #expect(table.match(path)?.route == (route.isCompanion ? nil : route))
        }
    }

    @Test(arguments: [
        "/companion/s3/multipart/", "/companion/s3/multipart/x/", "/companion/s3/multipart//7",
        "/companion/s3/multipart/x/7/8", "/companion/s3/multipart/x/7/", "/companion/s3",
    ])
    func `knows no other path of Companion's`(path: String) { #expect(table.match(path) == nil) }

    @Test(arguments: [
        "", "/", "/v2/uploads/", "/v2/uploads//parts", "/v2/uploads/x/", "/v2/uploads/x/y", "/v2/uploads/x/parts/",
        "/v2/uploads/x/y/parts", "/v2/uploads//", "/v2/uploads/x//complete", "/V2/uploads/x", "v2/uploads/x",
    ])
    func `knows no other path`(path: String) { #expect(table.match(path) == nil) }
}
