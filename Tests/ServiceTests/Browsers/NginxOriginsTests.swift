import Foundation
import Testing

@testable import CloakroomOperations
@testable import CloakroomServer

struct NginxOriginsTests {
    @Test func `without origins it is the file that comes with nginx's others`() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../nginx/cors.conf")
        #expect(NginxOrigins(Settings.Web(origins: [])).text == (try String(contentsOf: file, encoding: .utf8)))
    }

    @Test func `lists each origin as an exact expression, with what is sent`() {
        let text = NginxOrigins(Settings.Web(origins: ["https://app.example", "http://[::1]:3000"])).text
        let lines = text.split(separator: "\n").filter { !$0.hasPrefix("#") }
        #expect(
            lines == [
                "map $http_origin $cloakroom_origin {", #"    "~^https://app\.example$" "https://app.example";"#,
                #"    "~^http://\[::1\]:3000$" "http://[::1]:3000";"#, #"    default "";"#, "}",
                #"map "" $cloakroom_vary {"#, #"    default "Origin";"#, "}",
            ])
    }
}
