import CloakroomWire
import CloakroomHTTP

extension CredentialRequest {
    /// What a request says on one of the two vending routes: in its JSON body, or in its query.
    init(_ request: Request, _ route: Route) throws(ParsingError) {
        if route == .containerCredentials {
            try self.init(query: request.query)
        } else {
            try self.init(parsing: request.body)
        }
    }

    /// The same names as in the body; others are refused, and so is a name that comes twice.
    private init(query: String) throws(ParsingError) {
        guard let parameters = QueryParameters(query), parameters.names.isSubset(of: ["scope", "lifetimeSeconds"])
        else { throw ParsingError() }
        self.init(scope: parameters["scope"])
        guard let text = parameters["lifetimeSeconds"] else { return }
        guard let seconds = QueryParameters.integer(text) else { throw ParsingError() }
        lifetimeSeconds = seconds
    }
}
