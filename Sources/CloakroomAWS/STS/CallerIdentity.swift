import CloakroomHTTP

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// Whose credentials sign our requests.
///
/// Source: AWS STS API Reference, GetCallerIdentity.
package struct CallerIdentity: Sendable, Equatable {
    /// The number of the AWS account.
    package let account: String
    /// STS' clock when it responded, in whole seconds; `nil` for a response without `Date`.
    package let time: Date?

    /// `application/x-www-form-urlencoded`
    static let form = Array("Action=GetCallerIdentity&Version=2011-06-15".utf8)

    init(_ response: UpstreamResponse) throws(AWSError) {
        guard response.status == 200, let root = try? XMLReader.read(response.body),
            root.hasName("GetCallerIdentityResponse"),
            let account = root["GetCallerIdentityResult"]?.text(of: "Account"), !account.isEmpty
        else { throw AWSError(response, error: AWSErrorResponse(response.body)) }
        self.account = account
        time = response.fields["date"].flatMap { Timestamp(http: $0)?.date }
    }
}
