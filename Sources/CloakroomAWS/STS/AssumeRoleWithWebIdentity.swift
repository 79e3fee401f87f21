/// A request of AssumeRoleWithWebIdentity. It is unsigned: the token is the proof.
///
/// Source: AWS STS API Reference, AssumeRoleWithWebIdentity.
struct AssumeRoleWithWebIdentity {
    let roleARN: String
    let sessionName: String
    let token: String

    /// `application/x-www-form-urlencoded`
    var form: [UInt8] {
        let fields = [("RoleArn", roleARN), ("RoleSessionName", sessionName), ("WebIdentityToken", token)]
        let text = fields.map { "&\($0)=\(PercentEncoding.encode($1))" }.joined()
        return Array("Action=AssumeRoleWithWebIdentity&Version=2011-06-15\(text)".utf8)
    }
}
