import CloakroomHTTP
import CloakroomJSON
import CloakroomLoop
import Foundation

@testable import CloakroomOperations
@testable import CloakroomScriptedS3
@testable import CloakroomServer

/// STS: AssumeRole, its sessions, and what they open.
///
/// Source: AWS STS API Reference, AssumeRole; IAM User Guide, "Session policies".
@LoopActor
final class SecurityTokens {
    struct Session {
        let secret: String
        let token: String
        let end: Date
        let user: String
        let policy: IAMPolicy
    }

    /// Of new sessions, so many are refused for a time: an account has so many calls a second.
    var throttledShare = 0.0
    /// STS answers nothing but 503.
    var isDown = false
    private(set) var sessions: [String: Session] = [:]
    private(set) var calls = 0
    private let network: Network
    private var number = 0

    init(_ network: Network) { self.network = network }

    func session(of accessKeyID: String) -> Session? { sessions[accessKeyID] }

    /// - Parameter onSession: told of each session before its response goes out.
    func answer(_ request: UpstreamRequest, onSession: (String, Session) -> Void) -> UpstreamResponse {
        calls += 1
        let form = Self.form(request.body)
        guard !isDown else { return Self.error(503, "ServiceUnavailable") }
        // A worker that only looks whether STS is there.
        guard !form.isEmpty else { return Self.error(403, "MissingAuthenticationToken") }
        if !network.isCalm, network.chance(throttledShare) {
            Trace.reached("STS throttled")
            return Self.error(400, "Throttling")
        }
        let longer = Plant.current == .sessionIsLong ? 2.0 : 1
        guard form["Action"] == "AssumeRole", let seconds = form["DurationSeconds"].flatMap(Double.init),
            let user = Self.tag("UserId", in: form), let text = form["Policy"],
            let json = try? JSON(
                parsing: Array(
                    (Plant.current == .sessionIsOfAnother ? text.replacing(user, with: "u_other") : text).utf8)),
            let policy = try? IAMPolicy(json)
        else { Finding.end("STS gets a request that it does not know: \(form)") }
        number += 1
        let key = "ASIA\(String(number + 1_000_000, radix: 36).uppercased())"
        let session = Session(
            secret: "secret-\(number)", token: "token-\(number)",
            end: Date(timeIntervalSince1970: (Date().timeIntervalSince1970 + seconds * longer).rounded(.down)),
            user: user,
            policy: policy)
        sessions[key] = session
        onSession(key, session)
        return UpstreamResponse(
            status: 200,
            body: Array(
                """
                <AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult><Credentials>\
                <AccessKeyId>\(key)</AccessKeyId><SecretAccessKey>\(session.secret)</SecretAccessKey>\
                <SessionToken>\(session.token)</SessionToken><Expiration>\(session.end.formatted(.iso8601))</Expiration>\
                </Credentials></AssumeRoleResult></AssumeRoleResponse>
                """.utf8))
    }

    private static func error(_ status: Int, _ code: String) -> UpstreamResponse {
        UpstreamResponse(
            status: status,
            body: Array("<ErrorResponse><Error><Code>\(code)</Code><Message>no</Message></Error></ErrorResponse>".utf8))
    }

    private static func tag(_ key: String, in form: [String: String]) -> String? {
        (1...50).first { form["Tags.member.\($0).Key"] == key }.flatMap { form["Tags.member.\($0).Value"] }
    }

    private static func form(_ body: [UInt8]) -> [String: String] {
        var form: [String: String] = [:]
        for pair in String(decoding: body, as: UTF8.self).split(separator: "&") {
            let words = pair.split(separator: "=", maxSplits: 1).map { PercentText.decoded($0) ?? "" }
            form[words[0]] = words.count > 1 ? words[1] : ""
        }
        return form
    }
}
