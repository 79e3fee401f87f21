import CloakroomTestSupport
import Foundation

/// Answers as STS and S3 write them.
enum UpstreamDocuments {
    static func assumed(
        token: String? = "token", expiration: String? = Date(timeIntervalSinceNow: 900).formatted(.iso8601),
        secret: String = "secret"
    ) -> String {
        """
        <AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult><Credentials>\
        <AccessKeyId>ASIA1</AccessKeyId><SecretAccessKey>\(secret)</SecretAccessKey>\
        \(token.map { "<SessionToken>\($0)</SessionToken>" } ?? "")\
        \(expiration.map { "<Expiration>\($0)</Expiration>" } ?? "")\
        </Credentials></AssumeRoleResult></AssumeRoleResponse>
        """
    }

    static let copied = """
        <?xml version="1.0" encoding="UTF-8"?>
        <CopyObjectResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><LastModified>2026-11-20T14:00:00.000Z\
        </LastModified><ETag>&quot;9b2cf535f27731c974343645a3985328&quot;</ETag></CopyObjectResult>
        """

    static func stsError(_ code: String) -> String {
        "<ErrorResponse><Error><Type>Sender</Type><Code>\(code)</Code><Message>no</Message></Error></ErrorResponse>"
    }

    static func s3Error(_ code: String, _ more: String = "") -> String { "<Error><Code>\(code)</Code>\(more)</Error>" }

    static let selfCopyRefused = s3Error(
        "InvalidRequest",
        "<Message>This copy request is illegal because it is trying to copy an object to itself without changing the "
            + "object's metadata, storage class, website redirect location or encryption attributes.</Message>")

    static let young = s3Error(
        "PreconditionFailed", "<Condition>x-amz-copy-source-If-Unmodified-Since</Condition>")

    static let bomb =
        #"<!DOCTYPE l [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">"#
        + #"<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;">]>"# + assumed(secret: "&c;")

    /// What must never be taken for a success, under status 200.
    static let spoilt: [(String, [HTTPServer.Step])] = [
        ("an error of STS", [.answer(200, stsError("InternalFailure"))]),
        ("an error of S3", [.answer(200, s3Error("InternalError"))]),
        ("HTML", [.answer(200, "<html><body>Welcome</body></html>")]), ("nothing", [.answer(200)]),
        ("blanks", [.chunked(200, ["  ", "\n"])]), ("JSON", [.answer(200, #"{"Credentials":{}}"#)]),
        ("50 MB", [.text(HTTPServer.Step.head(200, [("Content-Length", "50000000")])), .zeros(50_000_000)]),
        ("an entity bomb", [.answer(200, bomb)]),
        ("a document type", [.answer(200, "<!DOCTYPE AssumeRoleResponse>" + assumed())]),
        ("a document type of a copy", [.answer(200, "<!DOCTYPE x SYSTEM 'file:///etc/passwd'>" + copied)]),
        ("half credentials", [.answer(200, String(assumed().prefix(200)))]),
        ("half a copy", [.answer(200, String(copied.prefix(120)))]),
    ]
}
