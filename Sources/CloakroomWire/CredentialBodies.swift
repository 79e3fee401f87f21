package import CloakroomJSON

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// The response of ``Route/stsToken``.
package struct STSTokenBody: WireBody, Codable {
    package struct Credentials: Sendable, Equatable, Codable {
        package var accessKeyId: String
        package var secretAccessKey: String
        package var sessionToken: String
        package var expiration: Date

        package init(accessKeyId: String, secretAccessKey: String, sessionToken: String, expiration: Date) {
            self.accessKeyId = accessKeyId
            self.secretAccessKey = secretAccessKey
            self.sessionToken = sessionToken
            self.expiration = expiration
        }
    }

    /// A folder of another user's.
    package struct Shared: Sendable, Equatable, Codable {
        package var prefix: String
        /// The other's identifier with the service.
        package var owner: String
        /// It is opened by no credentials later than this.
        package var until: Date

        package init(prefix: String, owner: String, until: Date) {
            self.prefix = prefix
            self.owner = owner
            self.until = until
        }
    }

    package var credentials: Credentials
    package var region: String
    package var bucket: String
    /// The user's identifier with the service; earlier workers do not send it.
    package var userId: String?
    /// Where the credentials open objects, each ending in `/`, by the folder's name in the settings, such as
    /// `"photos": "photos/u_1/"`; earlier workers do not send them.
    package var prefixes: [String: String]?
    /// What the credentials open of other users' folders, to be read and listed; `nil` for nothing.
    package var shared: [Shared]?

    package init(
        credentials: Credentials, region: String, bucket: String, userId: String? = nil,
        prefixes: [String: String]? = nil, shared: [Shared] = []
    ) {
        self.credentials = credentials
        self.region = region
        self.bucket = bucket
        self.userId = userId
        self.prefixes = prefixes
        self.shared = shared.isEmpty ? nil : shared
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.plainName("credentials")
        writer.beginObject()
        writer.member("accessKeyId", credentials.accessKeyId)
        writer.member("secretAccessKey", credentials.secretAccessKey)
        writer.member("sessionToken", credentials.sessionToken)
        writer.member("expiration", credentials.expiration)
        writer.endObject()
        writer.member("region", region)
        writer.member("bucket", bucket)
        if let userId { writer.member("userId", userId) }
        if let prefixes {
            writer.plainName("prefixes")
            writer.beginObject()
            for (name, prefix) in prefixes.sorted(by: { $0.key < $1.key }) {
                writer.name(name)
                writer.string(prefix)
            }
            writer.endObject()
        }
        if let shared {
            writer.plainName("shared")
            writer.beginArray()
            for folder in shared {
                writer.beginObject()
                writer.member("prefix", folder.prefix)
                writer.member("owner", folder.owner)
                writer.member("until", folder.until)
                writer.endObject()
            }
            writer.endArray()
        }
        writer.endObject()
    }
}

/// The response of ``Route/containerCredentials``, in the spelling that AWS SDKs read
/// (AWS SDKs and Tools Reference Guide, "Container credential provider").
package struct ContainerCredentialsBody: WireBody, Codable {
    package var accessKeyID: String
    package var secretAccessKey: String
    package var token: String
    package var expiration: Date

    package enum CodingKeys: String, CodingKey {
        case accessKeyID = "AccessKeyId"
        case secretAccessKey = "SecretAccessKey"
        case token = "Token"
        case expiration = "Expiration"
    }

    package init(accessKeyID: String, secretAccessKey: String, token: String, expiration: Date) {
        self.accessKeyID = accessKeyID
        self.secretAccessKey = secretAccessKey
        self.token = token
        self.expiration = expiration
    }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writer.member("AccessKeyId", accessKeyID)
        writer.member("SecretAccessKey", secretAccessKey)
        writer.member("Token", token)
        writer.member("Expiration", expiration)
        writer.endObject()
    }
}

// A printed body would be a leaked key; these print what is safe to know.
extension STSTokenBody.Credentials: CustomStringConvertible, CustomReflectable {
    package var description: String { "credentials until \(expiration.wireText)" }
    package var customMirror: Mirror { Mirror(self, children: ["expiration": expiration]) }
}

extension ContainerCredentialsBody: CustomStringConvertible, CustomReflectable {
    package var description: String { "credentials until \(expiration.wireText)" }
    package var customMirror: Mirror { Mirror(self, children: ["expiration": expiration]) }
}
