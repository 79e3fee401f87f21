import CloakroomKitTestSupport
import Foundation
import Testing

@testable import CloakroomKit

/// A library that cannot be read for a while, as while the system rebuilds it: PhotoKit's fetches find nothing then.
@Suite(.timeLimit(.minutes(1))) struct UnreadableLibraryTests {
    private let bench: SourceBackupBench
    private let library = UnreadableLibrary()

    init() throws { bench = try SourceBackupBench() }

    private func backup() throws -> SourceBackup {
        try bench.backup(of: PhotoLibrarySource(library, selection: PhotoSelection()))
    }

    @Test(arguments: [PhotoLibraryAccess.all, PhotoLibraryAccess.limited, PhotoLibraryAccess.none, nil])
    func `a photo that failed is not forgotten while the library cannot be read`(
        access: PhotoLibraryAccess?
    ) async throws {
        await library.fail("a")
        let backup = try backup()
        let first = await backup.run()
        #expect(first.failures.map(\.photo.id) == ["a#photo"] && first.backedUp == 1)
        await library.fail(nil)
        // After the end of the changes.
        await library.become(unreadable: true, access: access, after: 2)
        let second = await backup.run()
        #expect(!second.isComplete && second.backedUp == 0)
        await library.become(unreadable: false)
        #expect(await backup.run().isComplete)
        #expect(bench.isStored("photo a"))
    }

    @Test(arguments: [PhotoLibraryAccess.all, nil])
    func `a library that cannot be read during the first walk is walked again`(access: PhotoLibraryAccess?) async throws
    {
        await library.become(unreadable: true, access: access)
        let backup = try backup()
        #expect(await backup.run().stoppedBy == (access == nil ? .unreadableLibrary : nil))
        await library.become(unreadable: false)
        let report = await backup.run()
        #expect(report.isComplete && report.backedUp == 2)
    }
}

private actor UnreadableLibrary: PhotoLibraryReader {
    private var isUnreadable = false
    /// After so many looks at the access it cannot be read any more.
    private var looksLeft = Int.max
    private var accessMeanwhile: PhotoLibraryAccess?
    private var failing: String?

    func fail(_ id: String?) { failing = id }

    /// - Parameter access: what the system says it is meanwhile; `nil` when it says that the library is not available.
    func become(unreadable isUnreadable: Bool, access: PhotoLibraryAccess? = nil, after looks: Int = 0) {
        self.isUnreadable = isUnreadable && looks == 0
        looksLeft = isUnreadable ? looks : .max
        accessMeanwhile = access
    }

    func access() throws -> PhotoLibraryAccess {
        if isUnreadable {
            guard let accessMeanwhile else { throw CloakroomError.unreadableLibrary }
            return accessMeanwhile
        }
        looksLeft -= 1
        isUnreadable = looksLeft == 0
        return .all
    }

    func token() -> Data { Data("1".utf8) }
    func changes(since token: Data) -> LibraryChanges? { LibraryChanges() }
    func allAssets() -> [String] { isUnreadable ? [] : ["a", "b"] }

    func asset(_ id: String) -> LibraryAsset? {
        isUnreadable ? nil : LibraryAsset(id: id, modified: nil, files: [.init(kind: .photo, name: "\(id).heic")])
    }

    func write(_ kind: LibraryAsset.Kind, of id: String, to file: URL) throws {
        if id == failing { throw CloakroomError(.unreachable, "iCloud") }
        try Data("photo \(id)".utf8).write(to: file)
    }
}
