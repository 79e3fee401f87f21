import CloakroomHTTP

/// Valid responses of S3, STS, IAM, Redis, the sources of the worker's credentials and issuers of tokens.
enum Templates {
    private static let head: HeaderFields = [
        "date": "Fri, 20 Nov 2026 14:00:00 GMT", "x-amz-request-id": "4442587FB7D0A2F9",
    ]

    private static func fields(_ more: HeaderFields) -> HeaderFields {
        var fields = head
        fields.add(more)
        return fields
    }

    private static func xml(_ status: Int, _ text: String, _ more: HeaderFields = [:]) -> UpstreamResponse {
        UpstreamResponse(
            status: status, fields: fields(more), body: Array((#"<?xml version="1.0" encoding="UTF-8"?>"# + text).utf8))
    }

    private static func error(_ status: Int, _ code: String, _ more: String = "") -> UpstreamResponse {
        xml(
            status, "<Error><Code>\(code)</Code><Message>no</Message>\(more)<RequestId>1</RequestId></Error>",
            ["retry-after": "3", "x-amz-retry-after": "250"])
    }

    static let copied = xml(
        200,
        "<CopyObjectResult><LastModified>2026-11-20T14:00:00.000Z</LastModified><ETag>&quot;9b2cf535f27731c9&quot;</ETag>"
            + "</CopyObjectResult>", ["x-amz-expiration": #"expiry-date="Mon, 21 Dec 2026 00:00:00 GMT", rule-id="m""#])

    private static let object = fields([
        "etag": "\"9b2cf535f27731c974343645a3985328-3\"", "content-length": "6442450944", "content-type": "image/jpeg",
        "last-modified": "Sun, 01 Nov 2026 00:00:00 GMT", "x-amz-storage-class": "STANDARD", "x-amz-tagging-count": "1",
        "x-amz-meta-name": "picture", "x-amz-expiration": #"expiry-date="Mon, 21 Dec 2026 00:00:00 GMT", rule-id="m""#,
        "x-amz-object-lock-mode": "GOVERNANCE", "x-amz-object-lock-retain-until-date": "2026-11-19T00:00:00Z",
        "x-amz-restore": #"ongoing-request="false""#, "content-range": "bytes 0-4/5",
    ])

    private static let listed = xml(
        200,
        """
        <ListBucketResult><EncodingType>url</EncodingType><IsTruncated>true</IsTruncated><NextContinuationToken>1/+=x\
        </NextContinuationToken><Contents><Key>a%2Bb</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified>\
        <ETag>&quot;e&quot;</ETag><Size>5000</Size><StorageClass>STANDARD</StorageClass></Contents></ListBucketResult>
        """)
    private static let listedVersions = xml(
        200,
        """
        <ListVersionsResult><EncodingType>url</EncodingType><IsTruncated>true</IsTruncated><NextKeyMarker>a%2Bb\
        </NextKeyMarker><NextVersionIdMarker>v/1</NextVersionIdMarker><Version><Key>a%2Bb</Key><VersionId>v/1</VersionId>\
        <IsLatest>true</IsLatest><LastModified>2026-01-01T00:00:00.000Z</LastModified><Size>5000</Size></Version>\
        <DeleteMarker><Key>a%2Bb</Key><VersionId>v/0</VersionId><IsLatest>false</IsLatest><LastModified>\
        2025-01-01T00:00:00.000Z</LastModified></DeleteMarker></ListVersionsResult>
        """)
    private static let owned = xml(
        200,
        "<ListBucketResult><Contents><Key>a+b</Key><Size>5</Size><Owner><ID>0f9e</ID></Owner></Contents></ListBucketResult>"
    )
    private static let versioning = xml(
        200, "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>")
    private static let accessControl = xml(
        200, "<AccessControlPolicy><Owner><ID>0f9e</ID></Owner><AccessControlList/></AccessControlPolicy>")
    private static let parts = xml(
        200,
        """
        <ListPartsResult><IsTruncated>true</IsTruncated><NextPartNumberMarker>1000</NextPartNumberMarker><Part>\
        <PartNumber>1</PartNumber><ETag>&quot;a&quot;</ETag><Size>5242880</Size></Part></ListPartsResult>
        """)
    private static let begun = xml(
        200, "<InitiateMultipartUploadResult><UploadId>id/1+=</UploadId></InitiateMultipartUploadResult>")
    private static let partCopied = xml(200, "<CopyPartResult><ETag>&quot;p&quot;</ETag></CopyPartResult>")
    private static let completed = xml(
        200, "<CompleteMultipartUploadResult><ETag>&quot;e-2&quot;</ETag></CompleteMultipartUploadResult>")
    private static let tags = xml(200, "<Tagging><TagSet><Tag><Key>k</Key><Value>v</Value></Tag></TagSet></Tagging>")
    private static let tooLarge = error(400, "InvalidRequest", "<Condition>x</Condition>")
    private static let selfCopyRefused = xml(
        400, "<Error><Code>InvalidRequest</Code><Message>trying to copy an object to itself</Message></Error>")

    private static let lifecycle = xml(
        200,
        """
        <LifecycleConfiguration><Rule><ID>expire</ID><Filter><And><Prefix>a/</Prefix><Tag><Key>k</Key><Value>v</Value>\
        </Tag><ObjectSizeGreaterThan>128</ObjectSizeGreaterThan></And></Filter><Status>Enabled</Status><Expiration><Days>30\
        </Days></Expiration><NoncurrentVersionExpiration><NoncurrentDays>7</NoncurrentDays><NewerNoncurrentVersions>2\
        </NewerNoncurrentVersions></NoncurrentVersionExpiration><AbortIncompleteMultipartUpload><DaysAfterInitiation>7\
        </DaysAfterInitiation></AbortIncompleteMultipartUpload><Transition><Days>10</Days><StorageClass>GLACIER\
        </StorageClass></Transition></Rule></LifecycleConfiguration>
        """, ["x-amz-transition-default-minimum-object-size": "all_storage_classes_128K"])

    /// What a store answers where all is well.
    static func good(_ request: UpstreamRequest) -> UpstreamResponse {
        switch request.method {
        case "HEAD":
            UpstreamResponse(
                status: 200,
                fields: fields([
                    "etag": "\"e\"", "content-length": "5", "last-modified": "Sun, 01 Nov 2026 00:00:00 GMT",
                ]))
        case "POST": sts[0]
        default: copied
        }
    }

    /// The responses that lead furthest, by the kind of the request.
    ///
    /// - Returns: `nil` for requests to other services, and for the rest.
    static func expected(_ request: UpstreamRequest) -> [UpstreamResponse]? {
        let query = request.target.split(separator: "?", maxSplits: 1).dropFirst().first ?? ""
        switch request.method {
        case "HEAD": return [UpstreamResponse(status: 200, fields: object)]
        case "PUT" where request.target == "/latest/api/token": return [instanceToken]
        case "PUT" where query.hasPrefix("partNumber="): return [partCopied]
        case "PUT" where query.isEmpty: return [copied, tooLarge, selfCopyRefused]
        case "POST" where query == "uploads": return [begun]
        case "POST" where query.hasPrefix("uploadId="): return [completed]
        case "GET" where query == "tagging": return [tags]
        case "GET" where query == "lifecycle": return [lifecycle]
        case "GET" where query == "versioning": return [versioning]
        case "GET" where query == "acl": return [accessControl]
        case "GET" where query.hasPrefix("fetch-owner="): return [owned]
        case "GET" where query.hasSuffix("versions="): return [listedVersions]
        case "GET" where query.contains("list-type=2"): return [listed]
        case "GET" where query.contains("part-number-marker="): return [parts]
        case "GET" where request.target.hasPrefix("/latest/"):
            return [request.target.hasSuffix("/") ? instanceRole : instanceCredentials]
        case "GET" where request.target.hasSuffix("/openid-configuration"): return [discovered]
        case "GET" where request.target == "/jwks": return [keys]
        default: return nil
        }
    }

    /// Any of them may answer any request to S3.
    static let s3: [UpstreamResponse] = [
        copied, UpstreamResponse(status: 200, fields: object),
        UpstreamResponse(status: 206, fields: object, body: [1, 2, 3, 4, 5]),
        UpstreamResponse(status: 204, fields: head), UpstreamResponse(status: 404, fields: head),
        listed,
        parts,
        begun,
        partCopied,
        completed,
        tags, lifecycle,
        versioning, accessControl, listedVersions, owned,
        tooLarge, error(412, "PreconditionFailed"),
        error(404, "NoSuchKey"), error(404, "NoSuchUpload"), error(403, "AccessDenied"), error(503, "SlowDown"),
        error(403, "RequestTimeTooSkewed"), error(400, "ExpiredToken"), error(500, "InternalError"),
        selfCopyRefused,
    ]

    /// As AWS writes it, without a declaration.
    private static let assumed = """
        <AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult><AssumedRoleUser>\
        <AssumedRoleId>AROA123EXAMPLE123:u_1</AssumedRoleId><Arn>arn:aws:sts::123456789012:assumed-role/vending/u_1</Arn>\
        </AssumedRoleUser><Credentials><AccessKeyId>ASIAIOSFODNN7EXAMPLE</AccessKeyId><SecretAccessKey>wJalrXUtnFEMI/K7\
        </SecretAccessKey><SessionToken>AQoDYXdzEPT//wEXAMPLE+/==</SessionToken><Expiration>2026-11-20T15:00:00Z\
        </Expiration></Credentials><PackedPolicySize>6</PackedPolicySize></AssumeRoleResult><ResponseMetadata>\
        <RequestId>c6104cbe-af31-11e0</RequestId></ResponseMetadata></AssumeRoleResponse>
        """

    static let sts: [UpstreamResponse] = [
        UpstreamResponse(status: 200, fields: head, body: Array(assumed.utf8)), xml(200, assumed),
        xml(400, "<ErrorResponse><Error><Type>Sender</Type><Code>Throttling</Code></Error></ErrorResponse>"),
        error(403, "SignatureDoesNotMatch"),
    ]

    private static func text(_ text: String) -> UpstreamResponse {
        UpstreamResponse(status: 200, fields: head, body: Array(text.utf8))
    }

    private static let instanceToken = text("AQAEALLhCHMEsW+lMQ==")
    private static let instanceRole = text("worker\nother")
    private static let instanceCredentials = text(
        #"{"Code":"Success","LastUpdated":"2026-11-20T13:00:00Z","Type":"AWS-HMAC","AccessKeyId":"ASIA1","#
            + #""SecretAccessKey":"shh","Token":"tok","Expiration":"2026-11-20T20:00:00Z"}"#)

    static let credentials: [UpstreamResponse] = [
        text(
            #"{"RoleArn":"arn:aws:iam::1:role/r","AccessKeyId":"ASIA1","SecretAccessKey":"shh","Token":"tok","#
                + #""Expiration":"2026-11-20T14:20:00Z"}"#),
        xml(200, assumed.replacing("AssumeRoleRe", with: "AssumeRoleWithWebIdentityRe")),
        instanceToken, instanceRole, instanceCredentials,
        UpstreamResponse(status: 400, fields: head, body: Array(#"{"code":"InvalidToken","message":"no"}"#.utf8)),
        UpstreamResponse(status: 503, fields: head),
    ]

    private static let discovered = text(
        #"{"issuer":"https://issuer.example","jwks_uri":"https://issuer.example/jwks","response_types_supported":["code"]}"#
    )
    /// The keys of RFC 7517, appendix A.1, and RFC 8037, appendix A.2.
    private static let keys = UpstreamResponse(
        status: 200, fields: fields(["cache-control": "public, max-age=3600", "age": "30"]),
        body: Array(
            """
            {"keys":[{"kty":"EC","crv":"P-256","x":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4","y":\
            "4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM","use":"sig","kid":"1"},{"kty":"RSA","n":"0vx7agoebGcQSuuPiLJXZptN\
            9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9\
            yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08q\
            NLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw","e":"AQAB","alg":\
            "RS256","kid":"2011-04-29"},{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}
            """.utf8))

    static let issuer: [UpstreamResponse] = [discovered, keys, UpstreamResponse(status: 404, fields: head)]

    static let iam: [UpstreamResponse] = [
        xml(
            200,
            "<GetRolePolicyResponse><GetRolePolicyResult><PolicyDocument>%7B%22Version%22%3A%222012-10-17%22%2C%22"
                + "Statement%22%3A%5B%7B%22Effect%22%3A%22Deny%22%2C%22Action%22%3A%22%2A%22%2C%22Resource%22%3A%22%2A%22"
                + "%2C%22Condition%22%3A%7B%22StringEquals%22%3A%7B%22aws%3APrincipalTag%2FUserId%22%3A%5B%22u_1%22%5D%7D"
                + "%2C%22DateLessThan%22%3A%7B%22aws%3ATokenIssueTime%22%3A%222026-11-20T14%3A00%3A00Z%22%7D%7D%7D%5D%7D"
                + "</PolicyDocument></GetRolePolicyResult></GetRolePolicyResponse>"),
        xml(404, "<ErrorResponse><Error><Code>NoSuchEntity</Code></Error></ErrorResponse>"),
    ]

    static let redis: [[UInt8]] = [
        "*4\r\n:3\r\n:1800000\r\n:9\r\n:1800000\r\n",
        "*8\r\n:3\r\n:1800000\r\n:5\r\n:60000\r\n:9\r\n:1800000\r\n:7\r\n:60000\r\n",
        "*2\r\n:3\r\n:1800000\r\n", "+PONG\r\n", "$5\r\nhello\r\n", "$-1\r\n",
        "-NOSCRIPT No matching script\r\n", ":1\r\n", "*-1\r\n",
        "*7\r\n$10\r\n1795183200\r\n$3\r\npro\r\n$10\r\n1795183200\r\n$4\r\n5000\r\n$9\r\nunlimited\r\n$1\r\n0\r\n$-1\r\n",
        "*2\r\n$1\r\n0\r\n*2\r\n$3\r\na:b\r\n$3\r\nc:d\r\n",
    ].map { Array($0.utf8) }
}
