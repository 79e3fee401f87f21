import CloakroomAWS
import CloakroomCrypto
import Foundation
import CloakroomHTTP
import Testing

struct LifecycleConfigurationTests {
    private let fake = FakeRuntime()

    private func read(_ rules: String, fields: HeaderFields = [:]) async throws -> LifecycleConfiguration {
        let text =
            #"<?xml version="1.0" encoding="UTF-8"?>"# + "\n"
            + #"<LifecycleConfiguration xmlns="http://s3.amazonaws.com/doc/2006-03-01/">"# + rules
            + "</LifecycleConfiguration>"
        return try await fake.s3(ScriptedTransport(.xml(200, text, fields: fields)))
            .lifecycle(deadline: fake.deadline())
    }

    private func rule(_ content: String) async throws -> LifecycleRule {
        try #require(await read("<Rule>\(content)</Rule>").rules.first)
    }

    @Test func `reads the rule that everything rests on`() async throws {
        let rule = try await rule(
            """
            <ID>expire-after-30-days</ID><Filter/><Status>Enabled</Status>
              <Expiration><Days>30</Days></Expiration>
              <NoncurrentVersionExpiration><NoncurrentDays>7</NoncurrentDays></NoncurrentVersionExpiration>
              <AbortIncompleteMultipartUpload><DaysAfterInitiation>7</DaysAfterInitiation></AbortIncompleteMultipartUpload>
            """)
        #expect(rule.id == "expire-after-30-days" && rule.isEnabled && rule.filter.isEverything)
        #expect(rule.expiration == .days(30) && rule.expirationDays == 30 && rule.abortMultipartDays == 7)
        #expect(rule.noncurrentExpiration == .init(days: 7, newerVersions: nil))
        #expect(rule.unknown == [] && rule.transitions == [])
    }

    @Test(arguments: [
        ("<Filter><Prefix></Prefix></Filter>", LifecycleRule.Filter()),
        ("<Prefix></Prefix>", .init()),
        ("<Prefix>a/</Prefix>", .init(prefix: "a/")),
        ("<Filter><Prefix>a/</Prefix></Filter>", .init(prefix: "a/")),
        (
            "<Filter><Tag><Key>k</Key><Value>v</Value></Tag></Filter>",
            .init(tags: [.init(key: "k", value: "v")])
        ),
        (
            "<Filter><And><Prefix>a&amp;b</Prefix><Tag><Key>k</Key><Value/></Tag>"
                + "<ObjectSizeGreaterThan>5</ObjectSizeGreaterThan><ObjectSizeLessThan>9</ObjectSizeLessThan>"
                + "</And></Filter>",
            .init(prefix: "a&b", tags: [.init(key: "k", value: "")], sizeGreaterThan: 5, sizeLessThan: 9)
        ),
        ("<Filter><Moon>full</Moon></Filter>", .init(unknown: ["Moon"])),
    ])
    func `reads for which objects a rule is`(filter: String, expected: LifecycleRule.Filter) async throws {
        let rule = try await rule("<Status>Disabled</Status>\(filter)")
        #expect(rule.filter == expected && !rule.isEnabled)
        #expect(rule.filter.isEverything == (expected == .init()))
    }

    @Test func `names what it does not understand, instead of guessing`() async throws {
        let rule = try await rule(
            "<Status>Enabled</Status><Filter/><Expiration><Days>-3</Days></Expiration><Shred><Days>1</Days></Shred>"
                + "<NoncurrentVersionExpiration><NoncurrentDays>x</NoncurrentDays></NoncurrentVersionExpiration>")
        #expect(rule.unknown == ["Expiration", "Shred", "NoncurrentVersionExpiration"])
        #expect(rule.expiration == nil)
    }

    @Test func `reads dates, delete markers and storage classes`() async throws {
        let rule = try await rule(
            "<Expiration><Date>2027-01-01T00:00:00.000Z</Date></Expiration>"
                + "<Transition><Days>30</Days><StorageClass>GLACIER</StorageClass></Transition>"
                + "<Transition><Date>2027-01-01T00:00:00.000Z</Date><StorageClass>STANDARD_IA</StorageClass></Transition>"
                + "<NoncurrentVersionTransition><NoncurrentDays>3</NoncurrentDays><StorageClass>GLACIER_IR</StorageClass>"
                + "</NoncurrentVersionTransition>")
        #expect(rule.expiration == .date("2027-01-01T00:00:00.000Z"))
        #expect(
            rule.transitions == [
                .init(storageClass: "GLACIER", days: 30, isOfNoncurrent: false),
                .init(storageClass: "STANDARD_IA", days: nil, isOfNoncurrent: false),
                .init(storageClass: "GLACIER_IR", days: 3, isOfNoncurrent: true),
            ])
        let markers = try await self.rule(
            "<Expiration><ExpiredObjectDeleteMarker>true</ExpiredObjectDeleteMarker></Expiration>")
        #expect(markers.expiration == .deleteMarkers)
    }

    @Test func `no configuration is an empty one, and nothing else is`() async throws {
        let none = ScriptedTransport(.s3Error(404, "NoSuchLifecycleConfiguration"))
        #expect(try await fake.s3(none).lifecycle(deadline: fake.deadline()) == LifecycleConfiguration())
        for answer in [
            UpstreamResponse.s3Error(404, "NoSuchBucket"), .s3Error(403, "AccessDenied"), .xml(200, "<html/>"),
            .xml(200, ""), .s3Error(200, "InternalError"),
        ] {
            await #expect(throws: AWSError.self) {
                try await fake.s3(ScriptedTransport(answer)).lifecycle(deadline: fake.deadline())
            }
        }
    }

    /// What botocore 1.44.5 sends for the same configuration, but for a space in `<Filter />`.
    @Test func `puts a configuration as the SDKs do`() async throws {
        let transport = ScriptedTransport(UpstreamResponse(status: 200))
        let rule = LifecycleRule(
            xml: XMLNode(
                "Rule",
                [
                    XMLNode("ID", "expire"), XMLNode("Status", "Enabled"), XMLNode("Filter", []),
                    XMLNode("Expiration", [XMLNode("Days", "30")]),
                    XMLNode("NoncurrentVersionExpiration", [XMLNode("NoncurrentDays", "30")]),
                    XMLNode("AbortIncompleteMultipartUpload", [XMLNode("DaysAfterInitiation", "7")]),
                ]))
        try await fake.s3(transport).put(LifecycleConfiguration(rules: [rule]), deadline: fake.deadline())
        let sent = try #require(transport.requests.first)
        #expect(sent.method == "PUT" && sent.url == "https://photos.s3.eu-west-1.amazonaws.com/?lifecycle")
        let body = String(decoding: sent.body, as: UTF8.self)
        #expect(
            body
                == #"<LifecycleConfiguration xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Rule><ID>expire</ID>"#
                + "<Status>Enabled</Status><Filter/><Expiration><Days>30</Days></Expiration>"
                + "<NoncurrentVersionExpiration><NoncurrentDays>30</NoncurrentDays></NoncurrentVersionExpiration>"
                + "<AbortIncompleteMultipartUpload><DaysAfterInitiation>7</DaysAfterInitiation>"
                + "</AbortIncompleteMultipartUpload></Rule></LifecycleConfiguration>")
        #expect(sent.fields["x-amz-checksum-crc32"] == "CJpHuw==")
        #expect(sent.fields["x-amz-sdk-checksum-algorithm"] == "CRC32")
        #expect(sent.fields["x-amz-content-sha256"] == SHA256.hash(sent.body).hexadecimal)
        #expect(
            sent.fields["authorization"]?.contains(
                "SignedHeaders=host;x-amz-checksum-crc32;x-amz-content-sha256;x-amz-date;x-amz-sdk-checksum-algorithm,")
                == true)
    }

    @Test func `puts back what it read, understood or not`() async throws {
        let rules =
            "<Rule><ID>a &amp; b</ID><Filter><Moon>&lt;full&gt;</Moon></Filter><Status>Enabled</Status>"
            + "<Shred><Twice/></Shred></Rule>"
        let read = try await read(
            rules, fields: ["X-Amz-Transition-Default-Minimum-Object-Size": "varies_by_storage_class"])
        let transport = ScriptedTransport(UpstreamResponse(status: 200))
        try await fake.s3(transport).put(read, deadline: fake.deadline())
        let sent = try #require(transport.requests.first)
        #expect(String(decoding: sent.body, as: UTF8.self).contains(">\(rules)</LifecycleConfiguration>"))
        #expect(sent.fields["x-amz-transition-default-minimum-object-size"] == "varies_by_storage_class")
    }

    @Test func `puts nothing in place of rules that somebody else has changed meanwhile`() async throws {
        let rules = "<LifecycleConfiguration><Rule><ID>a</ID><Status>Enabled</Status></Rule></LifecycleConfiguration>"
        let other = rules.replacing("Enabled", with: "Disabled")
        for (now, requests) in [(rules, ["GET", "GET", "PUT"]), (other, ["GET", "GET"])] {
            let transport = ScriptedTransport(.xml(200, rules), .xml(200, now), UpstreamResponse(status: 200))
            let client = try fake.s3(transport)
            let former = try await client.lifecycle(deadline: fake.deadline())
            do throws(AWSError) {
                try await client.put(former, inPlaceOf: former, deadline: fake.deadline())
            } catch {
                #expect(error.code == "ChangedMeanwhile")
            }
            #expect(transport.requests.map(\.method) == requests)
        }
    }

    @Test(arguments: [0, 1001])
    func `sends no configuration that S3 cannot take`(count: Int) async throws {
        let transport = ScriptedTransport(UpstreamResponse(status: 200))
        let rule = LifecycleRule(xml: XMLNode("Rule", [XMLNode("Status", "Enabled")]))
        await #expect(throws: AWSError(.refused, status: 400, code: "RuleCount")) {
            try await fake.s3(transport).put(
                LifecycleConfiguration(rules: Array(repeating: rule, count: count)), deadline: fake.deadline())
        }
        #expect(transport.requests.isEmpty)
    }

    @Test func `a prefix of the old kind becomes a filter beside filters, and stays by itself`() async throws {
        let old = "<Rule><ID>old</ID><Prefix>a/</Prefix><Status>Enabled</Status></Rule>"
        let alone = try await read(old)
        #expect(String(decoding: alone.document, as: UTF8.self).contains(old))
        let mixed = try await read(
            old + "<Rule><ID>bare</ID><Prefix/><Status>Enabled</Status></Rule>"
                + "<Rule><ID>new</ID><Filter/><Status>Enabled</Status></Rule>")
        let text = String(decoding: mixed.document, as: UTF8.self)
        #expect(
            text.contains(
                "<Rule><ID>old</ID><Status>Enabled</Status><Filter><Prefix>a/</Prefix></Filter></Rule>"
                    + "<Rule><ID>bare</ID><Status>Enabled</Status><Filter/></Rule>"))
    }

    @Test func `a yes with an error in it is none`() async throws {
        let rule = LifecycleRule(xml: XMLNode("Rule", [XMLNode("Status", "Enabled")]))
        for answer in [UpstreamResponse.s3Error(200, "MalformedXML"), .s3Error(400, "MalformedXML"), .xml(202, "")] {
            await #expect(throws: AWSError.self) {
                try await fake.s3(ScriptedTransport(answer)).put(
                    LifecycleConfiguration(rules: [rule]), deadline: fake.deadline())
            }
        }
    }
}
