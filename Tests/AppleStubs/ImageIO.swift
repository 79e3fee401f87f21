// What the sources use of Apple's ImageIO, as its documentation declares it. Never run: for the type checker alone.
//
// Core Foundation's types are those of Swift here, between which Apple's compiler bridges.
public import Foundation

public typealias CFString = String
public typealias CFURL = URL
public typealias CFDictionary = [String: Any]
public typealias CFMutableData = NSMutableData

public final class CGImage {
    public var width: Int { never() }
    public var height: Int { never() }
}

public final class CGImageSource {}
public final class CGImageDestination {}

public let kCGImageSourceShouldCache: CFString = ""
public let kCGImageSourceShouldCacheImmediately: CFString = ""
public let kCGImageSourceCreateThumbnailFromImageAlways: CFString = ""
public let kCGImageSourceCreateThumbnailWithTransform: CFString = ""
public let kCGImageSourceThumbnailMaxPixelSize: CFString = ""
public let kCGImageSourceSubsampleFactor: CFString = ""
public let kCGImagePropertyPixelWidth: CFString = ""
public let kCGImagePropertyPixelHeight: CFString = ""
public let kCGImageDestinationLossyCompressionQuality: CFString = ""

public func CGImageSourceCreateWithURL(_ url: CFURL, _ options: CFDictionary?) -> CGImageSource? { never() }
public func CGImageSourceGetCount(_ source: CGImageSource) -> Int { never() }
public func CGImageSourceGetPrimaryImageIndex(_ source: CGImageSource) -> Int { never() }
public func CGImageSourceCopyPropertiesAtIndex(
    _ source: CGImageSource, _ index: Int, _ options: CFDictionary?
) -> Any? { never() }
public func CGImageSourceCreateThumbnailAtIndex(
    _ source: CGImageSource, _ index: Int, _ options: CFDictionary?
) -> CGImage? { never() }
public func CGImageDestinationCreateWithData(
    _ data: CFMutableData, _ type: CFString, _ count: Int, _ options: CFDictionary?
) -> CGImageDestination? { never() }
public func CGImageDestinationAddImage(
    _ destination: CGImageDestination, _ image: CGImage, _ properties: CFDictionary?
) { never() }
public func CGImageDestinationFinalize(_ destination: CGImageDestination) -> Bool { never() }

private func never() -> Never { preconditionFailure("a stub") }
