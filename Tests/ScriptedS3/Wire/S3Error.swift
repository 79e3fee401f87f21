/// An error as S3 tells it.
///
/// Statuses: botocore's model, shape `Error`; messages: LocalStack's snapshots of real answers, where they are compared.
struct S3Error: Error {
    let status: Int
    let code: String
    let message: String
    /// Elements besides `Code` and `Message`.
    var details: [S3Request.Pair] = []
    var fields: [S3Request.Pair] = []

    init(_ status: Int, _ code: String, _ message: String, details: [(String, String)] = []) {
        self.status = status
        self.code = code
        self.message = message
        self.details = details.map { .init(name: $0.0, value: $0.1) }
    }

    static let accessDenied = S3Error(403, "AccessDenied", "Access Denied")
    static let malformedXML = S3Error(
        400, "MalformedXML", "The XML you provided was not well-formed or did not validate against our published schema"
    )

    static func noSuchKey(_ key: String) -> S3Error {
        S3Error(404, "NoSuchKey", "The specified key does not exist.", details: [("Key", key)])
    }

    static func noSuchBucket(_ bucket: String) -> S3Error {
        S3Error(404, "NoSuchBucket", "The specified bucket does not exist", details: [("BucketName", bucket)])
    }

    static func noSuchUpload(_ id: String) -> S3Error {
        S3Error(
            404, "NoSuchUpload",
            "The specified upload does not exist. The upload ID may be invalid, or the upload may have been aborted or completed.",
            details: [("UploadId", id)])
    }

    static func invalidArgument(_ message: String, _ name: String, _ value: String) -> S3Error {
        S3Error(
            400, "InvalidArgument", message, details: [("ArgumentName", name), ("ArgumentValue", value)])
    }

    static func preconditionFailed(_ condition: String) -> S3Error {
        S3Error(
            412, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold",
            details: [("Condition", condition)])
    }

    static func notImplemented(_ what: String) -> S3Error {
        S3Error(
            501, "NotImplemented", "A header you provided implies functionality that is not implemented",
            details: [("Header", what)])
    }

    func xml(requestID: String) -> String {
        let inner = details.map { XMLText.element($0.name, $0.value) }.joined()
        return "<Error>" + XMLText.element("Code", code) + XMLText.element("Message", message) + inner
            + XMLText.element("RequestId", requestID) + XMLText.element("HostId", "scripted") + "</Error>"
    }

    func reply(requestID: String) -> S3Reply { S3Reply(status, xml: xml(requestID: requestID), fields: fields) }
}
