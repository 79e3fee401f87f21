import CloakroomHTTP
import Testing

@testable import CloakroomAWS
@testable import CloakroomOperations
@testable import CloakroomServer

struct CORSReviewTests {
    private static let web = Settings.Web(origins: ["https://a.example", "https://b.example"])

    private static func rule(
        _ origins: [String], methods: [String] = BucketRule.methods, headers: [String] = ["*"],
        exposed: [String] = BucketRule.exposed
    ) -> CORSRule {
        CORSRule(id: "r", origins: origins, methods: methods, headers: headers, exposed: exposed, maximumAge: 60)
    }

    private static func found(_ rules: [CORSRule], _ web: Settings.Web = web) -> [String] {
        CORSReview(CORSConfiguration(rules: rules), web).findings.map {
            "\($0.severity.rawValue) \($0.code.rawValue): \($0.text)"
        }
    }

    @Test func `is content with any rules that let the pages upload and read`() throws {
        #expect(Self.found([try #require(BucketRule.rule(Self.web))]) == [])
        #expect(Self.found([Self.rule(["https://*.example"])]) == [])
        #expect(
            Self.found([
                Self.rule(["https://a.example"]),
                Self.rule(["*"], headers: ["Authorization", "content-type", "x-amz-*"]),
            ]) == [])
        #expect(Self.found([], Settings.Web(origins: [])) == [])
    }

    @Test func `names what pages may not send and cannot read, by the rule that a store takes`() {
        let methods = "GET, HEAD, PUT, POST, DELETE"
        #expect(
            Self.found([])
                == ["error not_permitted: pages of https://a.example, https://b.example may not send \(methods)"])
        #expect(
            Self.found([Self.rule(["https://a.example"]), Self.rule(["https://b.example"], methods: ["GET"])])
                == ["error not_permitted: pages of https://b.example may not send HEAD, PUT, POST, DELETE"])
        #expect(
            Self.found([Self.rule(["*"], methods: ["GET"], headers: [], exposed: ["ETag"]), Self.rule(["*"])]) == [
                "error fields_not_permitted: pages of https://a.example, https://b.example may not send the header fields"
                    + " authorization, content-type, x-amz-checksum-sha256, x-amz-content-sha256, x-amz-date,"
                    + " x-amz-security-token",
                "warning not_exposed: pages of https://a.example, https://b.example cannot read Location,"
                    + " x-amz-version-id, x-amz-checksum-sha256, x-amz-expiration, Content-Range, Accept-Ranges",
            ])
        #expect(
            Self.found([Self.rule(["*"], exposed: BucketRule.exposed.filter { $0 != "ETag" })]) == [
                "error no_etag: pages of https://a.example, https://b.example cannot read ETag: they cannot complete"
                    + " multipart uploads"
            ])
    }

    @Test func `warns of origins that the settings no longer have`() throws {
        let former = try #require(BucketRule.rule(Settings.Web(origins: Self.web.origins + ["https://old.example"])))
        let expected =
            "warning former_origin: the rule cloakroom-browsers is for pages of https://old.example too, which web.origins"
            + " does not have"
        #expect(Self.found([former]) == [expected])
        #expect(Self.found([former], Settings.Web(origins: [])).count == 1)
    }
}

struct BrowserFindingsTests {
    private static let web = Settings.Web(origins: ["https://a.example", "https://b.example"])

    private static func answer(_ status: Int, _ origin: String? = nil) -> BrowserObservations.Outcome {
        var fields: HeaderFields = ["Vary": "Origin"]
        fields["Access-Control-Allow-Origin"] = origin
        return .success(UpstreamResponse(status: status, fields: fields))
    }

    private static func lines(
        _ web: Settings.Web = web, nginx outcomes: [BrowserObservations.Outcome]? = nil,
        foreign: BrowserObservations.Outcome = answer(204), bucket: Result<CORSConfiguration, AWSError>? = nil
    ) -> [String] {
        let rules = CORSConfiguration(rules: [BucketRule.rule(web)].compactMap(\.self))
        let nginx = outcomes.map {
            BrowserObservations.Nginx(
                preflights: zip(web.origins, $0).map { (origin: $0, outcome: $1) }, foreign: foreign)
        }
        return findings(nginx, (bucket ?? .success(rules)).mapError { .s3($0) }, web).lines
    }

    private static func findings(
        _ nginx: BrowserObservations.Nginx?, _ bucket: Result<CORSConfiguration, BrowserObservations.BucketError>,
        _ web: Settings.Web = web
    ) -> [Finding] {
        BrowserFindings(BrowserObservations(nginx: nginx, bucket: bucket), web).all
    }

    private static let listed = [answer(204, "https://a.example"), answer(204, "https://b.example")]
    private static let both = "https://a.example, https://b.example"

    @Test func `finds nothing where settings, nginx and bucket agree`() {
        #expect(
            Self.lines(nginx: Self.listed) == [
                "ok: nginx lets pages of \(Self.both) call",
                "ok: the bucket lets pages of \(Self.both) upload and read",
            ])
        let none = Settings.Web(origins: [])
        #expect(
            Self.lines(none, nginx: [], foreign: Self.answer(405)) == [
                "ok: web.origins is empty: no web page is let in"
            ])
        #expect(Self.lines(none) == ["ok: web.origins is empty: no web page is let in"])
        #expect(Self.lines(none, bucket: .failure(AWSError(.refused, status: 403, code: "AccessDenied"))).count == 1)
        #expect(Self.lines()[0] == "skipped: nginx was not checked for web pages")
    }

    @Test(arguments: [
        answer(405), answer(204), answer(204, "https://a.example"), answer(204, "*"), answer(403, "https://b.example"),
    ])
    func `names origins that nginx does not let in`(outcome: BrowserObservations.Outcome) {
        #expect(
            Self.lines(nginx: [Self.listed[0], outcome])[0]
                == "error: nginx does not let pages of https://b.example call")
    }

    @Test(arguments: [
        (TransportError.unreachable, "nginx is unreachable", "start nginx, or fix --url"),
        (.timeout, "no response in time", "look at the firewall and nginx's error log"),
    ])
    func `says why nginx does not respond, and not that it refuses pages`(
        error: TransportError, reason: String, advice: String
    ) {
        let failed = BrowserObservations.Outcome.failure(error)
        let bucket = "ok: the bucket lets pages of \(Self.both) upload and read"
        let expected = "error: preflights to nginx fail: \(reason)"
        #expect(Self.lines(nginx: [failed, failed], foreign: failed) == [expected, bucket])
        #expect(
            Self.lines(nginx: [Self.listed[0], failed])
                == [expected, "ok: nginx lets pages of https://a.example call", bucket])
        #expect(
            Self.lines(nginx: [failed, Self.answer(204)])
                == [expected, "error: nginx does not let pages of https://b.example call", bucket])
        #expect(
            Self.lines(Settings.Web(origins: []), nginx: [], foreign: failed)
                == [expected, "ok: web.origins is empty: no web page is let in"])
        let finding = Self.findings(.init(preflights: [], foreign: failed), .success(CORSConfiguration())).first
        #expect(finding?.advice == advice && finding?.command == nil)
    }

    @Test func `tells missing credentials, and a store that does not respond, from what a store says`() {
        let reasons = [CredentialChainError.Reason(provider: .environment, text: "AWS_ACCESS_KEY_ID is not set")]
        func found(_ error: BrowserObservations.BucketError) -> Finding? { Self.findings(nil, .failure(error)).last }
        let missing = found(.credentials(CredentialChainError(reasons: reasons)))
        #expect(
            missing?.found == "no AWS credentials to read the bucket's rules for web pages with: "
                + "environment: AWS_ACCESS_KEY_ID is not set")
        #expect(missing?.advice == "run the doctor where and as the worker runs, or fix what is named")
        let expired = found(.s3(AWSError(.noCredentials, code: "ExpiredCredentials")))
        #expect(expired?.advice == missing?.advice && expired?.found.hasSuffix(": ExpiredCredentials") == true)
        let lost = found(.s3(AWSError(.transient, code: "Unreachable")))
        #expect(lost?.advice == "is aws.s3Endpoint right, and the network there? The check endpoints says more")
        let refused = found(.s3(AWSError(.transient, status: 500, code: "InternalError")))
        #expect(refused?.advice == "look up the code in the store's manual; the check bucket says more")
    }

    @Test func `names what lets in every page, and a bucket that does not let in ours`() {
        #expect(
            Self.lines(nginx: Self.listed, foreign: Self.answer(204, "*"))[1]
                == "error: nginx permits pages of https://cloakroom-doctor.invalid with *")
        #expect(
            Self.lines(bucket: .success(CORSConfiguration())).last
                == "error: the bucket: pages of \(Self.both) may not send GET, HEAD, PUT, POST, DELETE")
        #expect(
            Self.lines(bucket: .failure(AWSError(.refused, status: 403, code: "AccessDenied"))).last
                == "skipped: the bucket's rules for web pages may not be read: AccessDenied (403)")
        #expect(
            Self.lines(bucket: .failure(AWSError(.transient, status: 500, code: "InternalError"))).last
                == "error: the bucket's rules for web pages cannot be read: InternalError (500)")
    }
}
