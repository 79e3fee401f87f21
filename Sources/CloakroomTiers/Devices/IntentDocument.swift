import CloakroomCrypto
import Foundation

/// Photos that a device is going to delete from the tier: two days after this was written, unless another device names
/// them then. Until it is gone, no other device lets a file of these go.
struct IntentDocument: SharedDocument, Equatable {
    /// The MD5 of each.
    var photos: [[UInt8]]

    static let maximumPhotos = 1_000

    init(photos: [[UInt8]]) { self.photos = photos }

    private enum CodingKeys: String, CodingKey { case photos }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        photos = try container.decode([String].self, forKey: .photos).map { text in
            guard let md5 = bytes(hexadecimal: text, counts: [MD5.byteCount]) else {
                throw DecodingError.dataCorruptedError(forKey: .photos, in: container, debugDescription: "no MD5")
            }
            return md5
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(photos.map(\.hexadecimal), forKey: .photos)
    }
}

/// That the user has given a device up, from another one.
struct DismissalDocument: SharedDocument, Equatable {
    /// The one given up: as in the document's name.
    var device: DeviceID
    var dismissedBy: DeviceID

    init(device: DeviceID, dismissedBy: DeviceID) {
        self.device = device
        self.dismissedBy = dismissedBy
    }
}
