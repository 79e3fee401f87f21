import CloakroomAWS
import CloakroomHTTP
import CloakroomWire

/// Responses of STS' own wire: XML in STS' namespace.
enum STSResponse {
    static let namespace = "https://sts.amazonaws.com/doc/2011-06-15/"
    private static let fields: HeaderFields = ["Content-Type": "text/xml", "Cache-Control": "no-store"]

    /// The `…Result` of an action; the same for each response with these credentials.
    static func result(
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
        var bytes: [UInt8] = []
        XMLNode("\(action.rawValue)Result", elements).append(to: &bytes)
        return bytes
    }

    static func response(_ result: [UInt8], of action: WebIdentityRequest.Action, id: RequestID?) -> Response {
        let name = "\(action.rawValue)Response"
        var body = Array("<\(name) xmlns=\"\(namespace)\">".utf8)
        body += result
        XMLNode("ResponseMetadata", [XMLNode("RequestId", text(id))]).append(to: &body)
        body += "</\(name)>".utf8
        return Response(status: 200, fields: withID(fields, id), body: body)
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
        var fields = withID(Self.fields, id)
        for field in response.fields where !replaced.contains(field.name) { fields.add(field.name, field.value) }
        return Response(status: status, fields: fields, body: error.document(namespace: namespace))
    }

    /// Of an error in JSON; STS knows no `WWW-Authenticate`.
    private static let replaced: Set<String> = ["Content-Type", "Cache-Control", "WWW-Authenticate"]

    private static func withID(_ fields: HeaderFields, _ id: RequestID?) -> HeaderFields {
        var fields = fields
        fields.add("x-amzn-RequestId", text(id))
        return fields
    }

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
