import Testing

/// One batch of old and new keys, bare and with a prefix, whose objects are at one of the places that the settings name, at
/// two, or at none.
enum RenewalPlaces {
    static func change(_ settings: inout TestSettings) {
        settings["uploads.keyPrefix"] = "places/"
        settings["renewal.formerPrefixes"] = ["former/"]
    }

    /// - Parameters:
    ///   - stack: with settings changed by ``change(_:)``.
    ///   - put: stores an object under a key.
    static func check(_ stack: Stack, put: (String) throws -> Void) throws {
        for key in [
            "place-1.bin", "places/place-2.bin", "former/place-3.bin", "place-4.bin", "places/place-4.bin",
        ] {
            try put(key)
        }
        let keys = [
            "place-1.bin", "places/place-1.bin", "place-2.bin", "places/place-2.bin", "place-3.bin",
            "former/place-3.bin", "place-4.bin", "places/place-4.bin", "place-5.bin", "places/place-5.bin",
            "elsewhere/place-1.bin", "cloakroom-doctor/x",
        ]
        let reply = try stack.askNginx(.renew(Tokens.fresh(), keys))
        #expect(reply.status == 200, "\(reply.told)")
        let results = try #require(reply.json["results"] as? [[String: Any]])
        #expect(results.map { $0["key"] as? String } == keys)
        #expect(
            results.map { $0["error"] as? String }
                == [String?](repeating: nil, count: 8) + ["not_found", "not_found", "invalid_key", "forbidden"])
        let metrics = Metrics(try stack.ask(.metrics).text)
        #expect(metrics.sum("cloakroom_renewals_total", ["outcome": "not_found"]) == 2)
    }
}
