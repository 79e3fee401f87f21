import Foundation

/// Which photos of a library are backed up, and which of their bytes.
public struct PhotoSelection: Sendable, Equatable, Codable {
    public enum Edits: Sendable, Equatable, Codable {
        /// The bytes that the camera, or an import, made: an edit can be undone from these alone.
        case originals
        /// The same, and the current picture of what was edited, as files of their own.
        case originalsAndEdits
    }

    public var edits: Edits
    public var includesScreenshots: Bool
    /// Films; the moving part of a Live Photo belongs to its photo, and is always included.
    public var includesVideos: Bool
    /// All frames of a burst; without them, the one that the library shows of it.
    public var includesBursts: Bool
    /// What the user has hidden, as far as the system lets apps read it.
    public var includesHidden: Bool

    public init(
        edits: Edits = .originalsAndEdits, includesScreenshots: Bool = true, includesVideos: Bool = true,
        includesBursts: Bool = true, includesHidden: Bool = false
    ) {
        self.edits = edits
        self.includesScreenshots = includesScreenshots
        self.includesVideos = includesVideos
        self.includesBursts = includesBursts
        self.includesHidden = includesHidden
    }

    /// The files of one asset; none of one that is left out.
    func photos(of asset: LibraryAsset) -> [SourcePhoto] {
        if asset.isScreenshot, !includesScreenshots { return [] }
        if asset.isVideo, !includesVideos { return [] }
        if asset.isFurtherBurstFrame, !includesBursts { return [] }
        if asset.isHidden, !includesHidden { return [] }
        return asset.files.filter { edits == .originalsAndEdits || !$0.kind.isEdit }.map { file in
            SourcePhoto(
                id: "\(asset.id)#\(file.kind.rawValue)",
                // Originals never change; setting a favourite changes the date of everything.
                version: file.kind.isEdit ? "\(asset.modified?.timeIntervalSince1970 ?? 0)" : "original",
                fileName: file.name)
        }
    }
}

/// A photo or a film in a library, as far as a backup needs it.
struct LibraryAsset: Sendable, Equatable {
    /// Which of an asset's files: Apple's `PHAssetResourceType`, without what can be made of the others.
    enum Kind: String, Sendable, CaseIterable {
        case photo
        case video
        /// Of a Live Photo.
        case pairedVideo
        /// Of a photo that was taken as JPEG and RAW, the other one.
        case alternatePhoto
        case editedPhoto
        case editedVideo
        case editedPairedVideo
        /// How to get from the original to the edited one.
        case adjustments

        var isEdit: Bool {
            switch self {
            case .photo, .video, .pairedVideo, .alternatePhoto: false
            case .editedPhoto, .editedVideo, .editedPairedVideo, .adjustments: true
            }
        }
    }

    struct File: Sendable, Equatable {
        var kind: Kind
        var name: String
    }

    var id: String
    var modified: Date?
    var isScreenshot = false
    var isVideo = false
    /// Of a burst, and not the frame that the library shows.
    var isFurtherBurstFrame = false
    var isHidden = false
    var files: [File]

    /// - Parameter resources: all that the system names of an asset, with `nil` for what it makes of the others.
    /// - Returns: `nil` where it names none at all: it has not read the asset, for each one has a file.
    static func files(of resources: [(kind: Kind?, name: String)]) -> [File]? {
        guard !resources.isEmpty else { return nil }
        return resources.compactMap { resource in resource.kind.map { File(kind: $0, name: resource.name) } }
    }
}
