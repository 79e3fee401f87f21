#if canImport(Photos)
    import Foundation
    import Photos

    extension PhotoLibrarySource {
        /// The library of this device. The app asks the user for access, with `NSPhotoLibraryUsageDescription` in its
        /// Info.plist.
        public init(_ selection: PhotoSelection = PhotoSelection()) {
            self.init(PhotoKitLibrary(), selection: selection)
        }
    }

    /// The library of this device, by PhotoKit.
    struct PhotoKitLibrary: PhotoLibraryReader {
        func access() async throws -> PhotoLibraryAccess {
            let access: PhotoLibraryAccess
            switch PHPhotoLibrary.authorizationStatus(for: .readWrite) {
            case .authorized: access = .all
            case .limited: access = .limited
            default: return .none
            }
            // Such as while its volume is not mounted: all fetches find nothing then.
            guard PHPhotoLibrary.shared().unavailabilityReason == nil else { throw CloakroomError.unreadableLibrary }
            return access
        }

        func token() async throws -> Data {
            try NSKeyedArchiver.archivedData(
                withRootObject: PHPhotoLibrary.shared().currentChangeToken, requiringSecureCoding: true)
        }

        @concurrent func changes(since token: Data) async throws -> LibraryChanges? {
            // Of another version of the system, or of another library.
            guard
                let token = try? NSKeyedUnarchiver.unarchivedObject(ofClass: PHPersistentChangeToken.self, from: token)
            else { return nil }
            do {
                var changes = LibraryChanges()
                // In the order in which they were made.
                for change in try PHPhotoLibrary.shared().fetchPersistentChanges(since: token) {
                    let details = try change.changeDetails(for: .asset)
                    changes.add(
                        LibraryChanges(
                            changed: details.insertedLocalIdentifiers.union(details.updatedLocalIdentifiers),
                            deleted: details.deletedLocalIdentifiers))
                }
                return changes
            } catch let error as PHPhotosError
                where [.persistentChangeTokenExpired, .persistentChangeDetailsUnavailable].contains(error.code)
            {
                return nil
            }
        }

        @concurrent func allAssets() async throws -> [String] {
            let assets = PHAsset.fetchAssets(with: Self.everything)
            return (0..<assets.count).map { assets.object(at: $0).localIdentifier }
        }

        @concurrent func asset(_ id: String) async throws -> LibraryAsset? {
            guard let asset = Self.asset(id),
                let files = LibraryAsset.files(
                    of: PHAssetResource.assetResources(for: asset).map { (.init($0.type), $0.originalFilename) })
            else { return nil }
            return LibraryAsset(
                id: id, modified: asset.modificationDate,
                isScreenshot: asset.mediaSubtypes.contains(.photoScreenshot), isVideo: asset.mediaType == .video,
                isFurtherBurstFrame: asset.burstIdentifier != nil && !asset.representsBurst, isHidden: asset.isHidden,
                files: files)
        }

        @concurrent func write(_ kind: LibraryAsset.Kind, of id: String, to file: URL) async throws {
            let resources = Self.asset(id).map { PHAssetResource.assetResources(for: $0) } ?? []
            guard let resource = resources.first(where: { LibraryAsset.Kind($0.type) == kind }) else {
                // It was there just now; whether it was deleted shows the next time.
                throw CloakroomError.unreadableLibrary
            }
            let options = PHAssetResourceRequestOptions()
            options.isNetworkAccessAllowed = true
            do {
                // Not `writeData`, which goes on when the task is cancelled.
                try await DeliveredFile.write(to: file) { receive, end in
                    // What is downloaded from iCloud may come when all of it has arrived.
                    options.progressHandler = { _ in receive(Data()) }
                    let request = PHAssetResourceManager.default().requestData(
                        for: resource, options: options, dataReceivedHandler: receive, completionHandler: end)
                    return { PHAssetResourceManager.default().cancelDataRequest(request) }
                }
            } catch {
                throw CloakroomError(exporting: resource.originalFilename, error)
            }
        }

        private static func asset(_ id: String) -> PHAsset? {
            PHAsset.fetchAssets(withLocalIdentifiers: [id], options: everything).firstObject
        }

        /// What is left out of it is for ``PhotoSelection``.
        private static var everything: PHFetchOptions {
            let options = PHFetchOptions()
            options.includeHiddenAssets = true
            options.includeAllBurstAssets = true
            return options
        }
    }

    extension LibraryAsset.Kind {
        /// `nil` for what the system makes of the others, such as thumbnails.
        fileprivate init?(_ type: PHAssetResourceType) {
            switch type {
            case .photo: self = .photo
            case .video: self = .video
            case .pairedVideo: self = .pairedVideo
            case .alternatePhoto: self = .alternatePhoto
            case .fullSizePhoto: self = .editedPhoto
            case .fullSizeVideo: self = .editedVideo
            case .fullSizePairedVideo: self = .editedPairedVideo
            case .adjustmentData: self = .adjustments
            default: return nil
            }
        }
    }
#endif
