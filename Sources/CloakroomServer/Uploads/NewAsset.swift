import CloakroomAWS
import CloakroomCrypto

/// The name of an object to be, and where it can be read then.
struct NewAsset: Sendable {
    let key: String
    let object: ObjectAddress
    let url: String

    /// - Parameter baseURL: without a trailing `/`.
    init?(key: String, baseURL: String) {
        guard let object = ObjectAddress(key: key) else { return nil }
        self.key = key
        self.object = object
        url = "\(baseURL)/\(object.encodedKey)"
    }
}

/// Draws names that tell nothing: 128 random bits and one ending for all, neither what the object is nor whose.
struct AssetNames: Sendable {
    let keyPrefix: String
    let baseURL: String
    let randomBytes: @Sendable (Int) -> [UInt8]

    func next() throws(AWSError) -> NewAsset {
        try named(keyPrefix + randomBytes(16).hexadecimal + ".bin")
    }

    func named(_ key: String) throws(AWSError) -> NewAsset {
        guard let asset = NewAsset(key: key, baseURL: baseURL) else { throw AWSError(.refused, code: "InvalidKey") }
        return asset
    }
}
