import CloakroomHTTP
import CloakroomJOSE
import CloakroomWire

/// What a client of STS' own wire asks for: parameters in a form, in the query, or some in each.
///
/// Source: AWS STS API Reference, AssumeRoleWithWebIdentity; for the older twin, MinIO, "AssumeRoleWithClientGrants".
struct WebIdentityRequest: Sendable {
    enum Action: String, Sendable, CaseIterable {
        case webIdentity = "AssumeRoleWithWebIdentity"
        case clientGrants = "AssumeRoleWithClientGrants"

        /// Where the token stands.
        var tokenParameter: String {
            switch self {
            case .webIdentity: "WebIdentityToken"
            case .clientGrants: "Token"
            }
        }
    }

    /// Of a token in a form: AWS STS API Reference.
    static let maximumTokenBytes = 20_000
    /// Of a token in the query: nginx takes request lines of 8 KiB (nginx/limits.conf), with everything else in them.
    static let maximumTokenBytesInQuery = 7_000
    private static let version = "2011-06-15"

    let action: Action
    let token: [UInt8]
    let maximumTokenBytes: Int
    /// Empty: the role of the settings.
    let roleARN: String
    /// For the log alone; `nil` when the client gave none.
    let sessionName: String?
    let lifetimeSeconds: Int?

    init(_ request: Request) throws(WebIdentityFault) {
        guard let query = QueryParameters(request.query) else { throw .parameters("The query cannot be read") }
        guard request.body.isEmpty || request.isForm else {
            throw .parameters("Content-Type must be application/x-www-form-urlencoded")
        }
        guard let form = QueryParameters(form: request.body) else {
            throw .parameters("The form cannot be read")
        }
        let parameters = try Parameters(query: query, form: form)
        action = try Self.action(parameters)
        if let unsupported = parameters.unsupported { throw unsupported }
        let name = action.tokenParameter
        guard let token = action == .webIdentity ? parameters.webIdentityToken : parameters.token, !token.isEmpty
        else { throw .missing(name) }
        // A file that a person made ends in a line feed; SDKs send it as it is.
        var bytes = Array(token.utf8)
        while bytes.last == 0x0A || bytes.last == 0x0D { bytes.removeLast() }
        self.token = bytes
        maximumTokenBytes = query[name] == nil ? Self.maximumTokenBytes : Self.maximumTokenBytesInQuery
        roleARN = parameters.roleARN ?? ""
        sessionName = try Self.sessionName(parameters)
        lifetimeSeconds = try Self.lifetime(parameters)
    }

    private static func action(_ parameters: Parameters) throws(WebIdentityFault) -> Action {
        guard let name = parameters.action, !name.isEmpty else { throw .missing("Action") }
        guard let action = Action(rawValue: name) else { throw .action(name) }
        // Some clients send none.
        guard parameters.version ?? version == version else { throw .parameters("Version must be \(version)") }
        return action
    }

    private static func sessionName(_ parameters: Parameters) throws(WebIdentityFault) -> String? {
        guard let name = parameters.sessionName else { return nil }
        guard sessionNameCharacters.holdsAll(of: name, count: 2...64) else {
            throw .parameters("RoleSessionName must be 2 to 64 of letters, digits and _+=,.@-")
        }
        return name
    }

    private static let sessionNameCharacters: ASCIIClass = "A-Za-z0-9_+=,.@-"

    private static func lifetime(_ parameters: Parameters) throws(WebIdentityFault) -> Int? {
        guard let text = parameters.lifetime else { return nil }
        guard let seconds = QueryParameters.integer(text) else {
            throw .parameters("DurationSeconds must be a number of seconds")
        }
        return seconds
    }

    /// Those of query and form together; no name may stand in both. Read in one pass: each request of an SDK has them.
    private struct Parameters {
        private(set) var action: String?
        private(set) var version: String?
        private(set) var webIdentityToken: String?
        private(set) var token: String?
        private(set) var roleARN: String?
        private(set) var sessionName: String?
        private(set) var lifetime: String?
        /// Whatever would narrow the session and is not obeyed is refused: left out, it would grant more than was meant.
        private(set) var unsupported: WebIdentityFault?

        init(query: QueryParameters, form: QueryParameters) throws(WebIdentityFault) {
            form.forEach { take($0, $1) }
            try query.forEach { (name, value) throws(WebIdentityFault) in
                guard form[name] == nil else {
                    throw .parameters("A parameter stands in the query and in the form")
                }
                take(name, value)
            }
        }

        private mutating func take(_ name: String, _ value: String) {
            switch name {
            case "Action": action = value
            case "Version": version = value
            case "WebIdentityToken": webIdentityToken = value
            case "Token": token = value
            case "RoleArn": roleARN = value
            case "RoleSessionName": sessionName = value
            case "DurationSeconds": lifetime = value
            case "ProviderId":
                unsupported =
                    unsupported ?? .parameters("ProviderId is not supported: the token itself says who made it")
            case _ where name == "Policy" || name.hasPrefix("PolicyArns"):
                unsupported = .parameters(
                    "Policy and PolicyArns are not supported: scopes of the settings say what a session may do, as a"
                        + " RoleArn that ends in :role/SCOPE")
            default: break
            }
        }
    }
}

/// Why the parameters are refused.
enum WebIdentityFault: Error, Equatable {
    case missing(String)
    case action(String)
    case parameters(String)

    var answer: RouteResponse {
        switch self {
        case .missing(let name): .error(.invalidRequest, "\(name) is missing", sts: .missingParameter)
        case .action(let name):
            .error(.invalidRequest, Self.sentence(forAction: name), reason: "action", sts: .invalidAction)
        case .parameters(let sentence): .error(.invalidRequest, sentence)
        }
    }

    private static func sentence(forAction name: String) -> String {
        let known = WebIdentityRequest.Action.allCases.map(\.rawValue).joined(separator: " and ")
        // Of the caller's text only this one name is repeated.
        return name == "GetCallerIdentity"
            ? "GetCallerIdentity is not answered here: the STS that made the credentials knows whose they are; here there are \(known)"
            : "There is no such action here; there are \(known)"
    }
}

extension Request {
    /// Whether the body is said to be a form, whatever parameters follow (RFC 9110 §8.3).
    fileprivate var isForm: Bool { hasType("application/x-www-form-urlencoded") }
}
