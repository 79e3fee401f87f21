public import Foundation

/// Which image to show.
public struct ImageSource: Sendable, Hashable {
    enum Kind: Sendable, Hashable {
        case photo(md5: String)
        case thumbnail(md5: String)
        case link(String)
    }

    let kind: Kind
    /// From then on it is not shown any more; `nil` for no end.
    let expiration: Date?

    /// A photo of the user's own backup.
    ///
    /// - Parameter md5: of the photo's bytes, 32 hexadecimal digits in lower case.
    public static func photo(md5: String) -> ImageSource { ImageSource(kind: .photo(md5: md5), expiration: nil) }

    /// - Parameter md5: of the photo's bytes, not of the thumbnail's.
    public static func thumbnail(md5: String) -> ImageSource {
        ImageSource(kind: .thumbnail(md5: md5), expiration: nil)
    }

    /// A picture of a profile or a group, or any other image that is renewed.
    public static func asset(_ asset: RenewableAsset) -> ImageSource { .url(asset.url) }

    /// An image that is read without credentials; `https`, or `http` of this device.
    public static func url(_ url: URL) -> ImageSource {
        ImageSource(kind: .link(url.absoluteString), expiration: nil)
    }

    /// An image of a chat that this device has uploaded.
    public static func chatImage(_ image: ChatImage) -> ImageSource {
        chatImage(link: image.link, expiration: image.expiration)
    }

    /// An image of a chat that a message has named.
    ///
    /// - Parameters:
    ///   - link: as ``ChatImage/link``.
    ///   - expiration: when its object ends, as ``ChatImage/expiration``. From then on this source shows it no more, and its
    ///     bytes leave the cache. The sender may be wrong: a source that names another end, or none, is loaded anew.
    public static func chatImage(link: String, expiration: Date) -> ImageSource {
        ImageSource(kind: .link(link), expiration: expiration)
    }
}

extension ImageSource: CustomStringConvertible, CustomReflectable {
    /// Without links, which may be the only secret of an image of a chat.
    public var description: String {
        switch kind {
        case .photo(let md5): "photo \(md5)"
        case .thumbnail(let md5): "thumbnail \(md5)"
        case .link: "image of a URL"
        }
    }
    public var customMirror: Mirror { Mirror(self, children: ["image": description]) }
}
