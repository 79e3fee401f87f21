import CloakroomCrypto
import CloakroomLoad
import Testing

struct RequestMixTests {
    @Test func `reads weights, and draws by them`() throws {
        let mix = try RequestMix(parsing: "vend=70,renew=20,upload=10")
        #expect(mix.text == "vend=70,renew=20,upload=10")
        var counts = [0, 0, 0]
        for number in 0..<100_000 { counts[mix.share(of: number)] += 1 }
        for (count, weight) in zip(counts, [70_000, 20_000, 10_000]) { #expect(abs(count - weight) < 600) }
    }

    @Test func `draws the same in each run, and not in turns`() throws {
        let mix = try RequestMix(parsing: "vend,health")
        let drawn = (0..<64).map { mix.share(of: $0) }
        #expect(drawn == (0..<64).map { mix.share(of: $0) })
        #expect(drawn != (0..<64).map { $0 % 2 })
    }

    private static let faults: [(String, RequestMix.ParsingError)] = [
        ("vend=x", .malformed("vend=x")), ("vend=-1", .malformed("vend=-1")), ("vend=1,vend=2", .twice("vend")),
        ("vned=1", .unknownRoute("vned")), ("", .unknownRoute("")), ("vend=0", .noWeight),
        ("vend=9999999", .malformed("vend=9999999")),
    ]

    @Test(arguments: faults)
    func `refuses what is no mix`(text: String, error: RequestMix.ParsingError) {
        #expect(throws: error) { try RequestMix(parsing: text) }
    }

    @Test func `a route without weight is left out`() throws {
        #expect(try RequestMix(parsing: "vend=0,health=2").text == "health=2")
    }

    @Test func `requests are what the routes take, with the tokens in turn`() throws {
        let tokens = [Secret("one"), Secret("two")]
        func line(_ route: String, _ number: Int) throws -> String {
            let requests = LoadRequests(
                try RequestMix(parsing: route), origin: "http://here", tokens: tokens, keys: ["a", "b", "c"],
                keysPerRequest: 2)
            let request = requests.request(number)
            let token = request.fields["authorization"] ?? "-"
            return "\(request.method) \(request.url) \(token) \(String(decoding: request.body, as: UTF8.self))"
        }
        #expect(try line("vend", 0) == "POST http://here/api/v1/auth/sts-token Bearer one ")
        #expect(try line("vend", 3) == "POST http://here/api/v1/auth/sts-token Bearer two ")
        #expect(try line("container", 2) == "GET http://here/v1/credentials Bearer one ")
        #expect(
            try line("renew", 1) == #"POST http://here/v2/assets/renew-batch Bearer two {"assetKeys":["c","a"]}"#)
        #expect(try line("renew-one", 1) == #"PUT http://here/v2/assets/renew Bearer two {"assetKey":"b"}"#)
        #expect(
            try line("upload", 0) == "GET http://here/v2/attachments/presigned?contentType=image/jpeg Bearer one ")
        #expect(
            try line("upload-post", 0)
                == #"POST http://here/v2/attachments/presigned-post Bearer one {"contentType":"image/jpeg"}"#)
        #expect(try line("health", 0) == "GET http://here/healthz - ")
        #expect(try line("ready", 0) == "GET http://here/readyz - ")
    }
}
