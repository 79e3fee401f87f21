#if canImport(AVFoundation) && !os(watchOS)
    public import AVFoundation
    import Dispatch
    public import Foundation
    import UniformTypeIdentifiers

    /// Plays a video of the user's backup while it arrives: only the parts that the player wants are read.
    ///
    /// ```swift
    /// let video = VideoResource(RangeReader(client: s3, key: try layout.photo(md5: md5)))
    /// let player = AVPlayer(playerItem: AVPlayerItem(asset: video.asset()))
    /// ```
    ///
    /// Keep it for as long as the asset is used: the asset does not. It reads stored bytes as they are, so the app must not
    /// have encrypted them.
    ///
    /// `@unchecked`: what changes is used on the queue alone, on which the system calls, too.
    public final class VideoResource: NSObject, AVAssetResourceLoaderDelegate, @unchecked Sendable {
        private let reader: RangeReader
        private let queue = DispatchQueue(label: "cloakroom.video")
        private var tasks: [ObjectIdentifier: Task<Void, Never>] = [:]

        public init(_ reader: RangeReader) { self.reader = reader }

        deinit { for task in tasks.values { task.cancel() } }

        public func asset() -> AVURLAsset {
            // A scheme that the system cannot load itself.
            guard let url = URL(string: "cloakroom-video:/video") else { preconditionFailure("a constant is a URL") }
            let asset = AVURLAsset(url: url)
            asset.resourceLoader.setDelegate(self, queue: queue)
            return asset
        }

        public func resourceLoader(
            _ loader: AVAssetResourceLoader,
            shouldWaitForLoadingOfRequestedResource request: AVAssetResourceLoadingRequest
        ) -> Bool {
            let wanted = request.dataRequest.map { PlayerRequest($0) }
            let wantsInfo = request.contentInformationRequest != nil
            // The task hands it to the queue, and uses it nowhere else.
            nonisolated(unsafe) let request = request
            tasks[ObjectIdentifier(request)] = Task { [reader, queue, weak self] in
                let result: Result<Void, any Error>
                do {
                    if wantsInfo {
                        let info = try await reader.info()
                        queue.async { request.contentInformationRequest?.describe(info) }
                    }
                    if let wanted {
                        try await reader.read(wanted) { bytes in
                            queue.async { if !request.isCancelled { request.dataRequest?.respond(with: bytes) } }
                        }
                    }
                    result = .success(())
                } catch {
                    result = .failure(error)
                }
                queue.async { [weak self] in self?.finish(request, result) }
            }
            return true
        }

        public func resourceLoader(
            _ loader: AVAssetResourceLoader, didCancel request: AVAssetResourceLoadingRequest
        ) {
            tasks.removeValue(forKey: ObjectIdentifier(request))?.cancel()
        }

        /// On the queue.
        private func finish(_ request: AVAssetResourceLoadingRequest, _ result: Result<Void, any Error>) {
            guard tasks.removeValue(forKey: ObjectIdentifier(request)) != nil, !request.isCancelled else { return }
            switch result {
            case .success: request.finishLoading()
            case .failure(let error): request.finishLoading(with: error)
            }
        }
    }

    extension PlayerRequest {
        fileprivate init(_ request: AVAssetResourceLoadingDataRequest) {
            self.init(
                offset: request.requestedOffset,
                byteCount: request.requestsAllDataToEndOfResource ? nil : Int64(request.requestedLength))
        }
    }

    extension AVAssetResourceLoadingContentInformationRequest {
        fileprivate func describe(_ info: ObjectInfo) {
            switch info.mediaType {
            case .mime(let name)?: contentType = UTType(mimeType: name)?.identifier
            case .fileExtension(let name)?: contentType = UTType(filenameExtension: name)?.identifier
            case nil: break
            }
            contentLength = info.byteCount
            isByteRangeAccessSupported = true
        }
    }
#endif
