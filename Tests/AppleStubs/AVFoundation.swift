// What the sources use of Apple's AVFoundation, as its documentation declares it. Never run: for the type checker alone.
public import Dispatch
public import Foundation

/// https://developer.apple.com/documentation/avfoundation/avurlasset
public class AVURLAsset: NSObject {
    public init(url: URL, options: [String: Any]? = nil) { never() }
    public var resourceLoader: AVAssetResourceLoader { never() }
}

/// https://developer.apple.com/documentation/avfoundation/avplayeritem
@MainActor public class AVPlayerItem: NSObject {
    public init(asset: AVURLAsset) { never() }
}

/// https://developer.apple.com/documentation/avfoundation/avplayer
@MainActor public class AVPlayer: NSObject {
    public init(playerItem: AVPlayerItem?) { never() }
}

/// https://developer.apple.com/documentation/avfoundation/avassetresourceloader
public final class AVAssetResourceLoader: NSObject {
    public func setDelegate(_ delegate: (any AVAssetResourceLoaderDelegate)?, queue: DispatchQueue?) { never() }
}

/// https://developer.apple.com/documentation/avfoundation/avassetresourceloaderdelegate; there, its methods are optional.
public protocol AVAssetResourceLoaderDelegate: NSObjectProtocol {
    func resourceLoader(
        _ loader: AVAssetResourceLoader, shouldWaitForLoadingOfRequestedResource request: AVAssetResourceLoadingRequest
    ) -> Bool
    func resourceLoader(_ loader: AVAssetResourceLoader, didCancel request: AVAssetResourceLoadingRequest)
}

/// https://developer.apple.com/documentation/avfoundation/avassetresourceloadingrequest
public class AVAssetResourceLoadingRequest: NSObject {
    public var contentInformationRequest: AVAssetResourceLoadingContentInformationRequest? { never() }
    public var dataRequest: AVAssetResourceLoadingDataRequest? { never() }
    public var isCancelled: Bool { never() }
    public func finishLoading() { never() }
    public func finishLoading(with error: (any Error)?) { never() }
}

public class AVAssetResourceLoadingContentInformationRequest: NSObject {
    public var contentType: String? {
        get { never() }
        set { never() }
    }
    public var contentLength: Int64 {
        get { never() }
        set { never() }
    }
    public var isByteRangeAccessSupported: Bool {
        get { never() }
        set { never() }
    }
}

public class AVAssetResourceLoadingDataRequest: NSObject {
    public var requestedOffset: Int64 { never() }
    public var requestedLength: Int { never() }
    public var requestsAllDataToEndOfResource: Bool { never() }
    public func respond(with data: Data) { never() }
}

private func never() -> Never { preconditionFailure("a stub") }
