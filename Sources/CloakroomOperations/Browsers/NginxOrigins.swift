package import CloakroomServer

/// The file `nginx/cors.conf`: the origins of the web pages that nginx lets read responses.
package struct NginxOrigins: Sendable {
    private let origins: [String]

    package init(_ settings: Settings.Web) { origins = settings.origins }

    /// Without origins, the file as it comes with `nginx/`.
    package var text: String {
        let vary = origins.isEmpty ? "" : "Origin"
        return """
            # For the http block: the web pages that may read responses, by their origins.
            # `cloakroom nginx-cors SETTINGS` makes this file of web.origins. As it comes with nginx/, there are none.

            # The field Origin, compared exactly. What is sent stands here; nothing of the request is repeated.
            map $http_origin $cloakroom_origin {
            \((origins.map(Self.line) + [#"    default "";"#]).joined(separator: "\n"))
            }

            # For caches, which keep the responses to different pages apart where there are any.
            map "" $cloakroom_vary {
                default "\(vary)";
            }

            """
    }

    /// An expression: nginx compares texts without regard to case, and keeps them in a table that long ones do not fit in.
    private static func line(_ origin: String) -> String {
        let expression = origin.map { ".[]".contains($0) ? "\\\($0)" : "\($0)" }.joined()
        return #"    "~^\#(expression)$" "\#(origin)";"#
    }
}
