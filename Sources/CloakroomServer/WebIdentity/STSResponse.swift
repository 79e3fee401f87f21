import CloakroomAWS
import CloakroomHTTP
import CloakroomWire

/// Responses of STS' own wire: XML in STS' namespace.
enum STSResponse {
    static let namespace = "https://sts.amazonaws.com/doc/2011-06-15/"
    private static let fields: HeaderFields = ["Content-Type": "text/xml", "Cache-Control": "no-store"]
    private static let idField = "x-amzn-RequestId"

    /// A response up to its request's id: the same for each with these credentials.
    static func beginning(
        of action: WebIdentityRequest.Action, _ session: VendedSession, to subject: Subject, role: SessionRole,
        packedPercent: Int
    ) -> [UInt8] {
        let credentials = session.role.credentials
        var elements = [
            XMLNode(
                "Credentials",
                [
                    XMLNode("AccessKeyId", credentials.accessKeyID),
                    XMLNode("SecretAccessKey", credentials.secretAccessKey.reveal()),
                    XMLNode("SessionToken", credentials.sessionToken?.reveal() ?? ""),
                    XMLNode("Expiration", session.role.expiration.wireText),
                ]),
            XMLNode(
                "AssumedRoleUser",
                [
                    XMLNode("AssumedRoleId", "\(role.nameInIAM):\(session.sessionName)"),
                    XMLNode("Arn", role.arn(ofSession: session.sessionName)),
                ]),
            XMLNode(action.subjectElement, subject.userID.text),
            XMLNode("Provider", subject.issuer),
            XMLNode("PackedPolicySize", String(min(packedPercent, 100))),
        ]
        if let audience = subject.audience { elements.append(XMLNode("Audience", audience)) }
        var bytes = Array("<\(action.rawValue)Response xmlns=\"\(namespace)\">".utf8)
        XMLNode("\(action.rawValue)Result", elements).append(to: &bytes)
        bytes += "<ResponseMetadata><RequestId>".utf8
        return bytes
    }

    static func response(_ beginning: [UInt8], of action: WebIdentityRequest.Action, id: RequestID?) -> Response {
        // An id has hexadecimal digits alone: nothing of it is to be escaped.
        let id = text(id)
        let end = action.endOfResponse
        var body: [UInt8] = []
        body.reserveCapacity(beginning.count + id.utf8.count + end.utf8.count)
        body += beginning
        body += id.utf8
        body += end.utf8
        var fields = fields
        fields.add(idField, id)
        return Response(status: 200, fields: fields, body: body)
    }

    /// An error of the service as STS says it, with the fields that tell when to come back or what else to send.
    static func error(_ fault: RouteResponse.Fault, _ response: Response, id: RequestID?) -> Response {
        let code = fault.sts ?? STSErrorCode(fault.code)
        // HTTP's own: what is said of the method and of the length holds before any action is known.
        let status = [.methodNotAllowed, .bodyTooLarge].contains(fault.code) ? fault.code.status : code.status
        let error = XMLNode(
            "ErrorResponse",
            [
                XMLNode(
                    "Error",
                    [
                        XMLNode("Type", status < 500 ? "Sender" : "Receiver"), XMLNode("Code", code.rawValue),
                        XMLNode("Message", fault.body.error),
                    ]),
                XMLNode("RequestId", text(id)),
            ])
        var fields = Self.fields
        fields.add(idField, text(id))
        for field in response.fields where !replaced.contains(field.name) { fields.add(field.name, field.value) }
        return Response(status: status, fields: fields, body: error.document(namespace: namespace))
    }

    /// Of an error in JSON; STS knows no `WWW-Authenticate`.
    private static let replaced: Set<String> = ["Content-Type", "Cache-Control", "WWW-Authenticate"]

    private static func text(_ id: RequestID?) -> String { id.map(\.description) ?? "" }
}

extension WebIdentityRequest.Action {
    /// Where the user's id stands in the result.
    fileprivate var subjectElement: String {
        switch self {
        case .webIdentity: "SubjectFromWebIdentityToken"
        case .clientGrants: "SubjectFromToken"
        }
    }

    /// What comes behind the request's id.
    fileprivate var endOfResponse: String {
        switch self {
        case .webIdentity: "</RequestId></ResponseMetadata></AssumeRoleWithWebIdentityResponse>"
        case .clientGrants: "</RequestId></ResponseMetadata></AssumeRoleWithClientGrantsResponse>"
        }
    }
}

extension SessionRole {
    /// `arn:PARTITION:sts::ACCOUNT:assumed-role/ROLE/SESSION` (IAM User Guide, "IAM identifiers").
    fileprivate func arn(ofSession name: String) -> String {
        // arn:PARTITION:iam::ACCOUNT:role/PATH/NAME
        let parts = arn.split(separator: ":", maxSplits: 5, omittingEmptySubsequences: false)
        guard parts.count == 6 else { return arn }
        return "\(parts[0]):\(parts[1]):sts::\(parts[4]):assumed-role/\(nameInIAM)/\(name)"
    }
}
