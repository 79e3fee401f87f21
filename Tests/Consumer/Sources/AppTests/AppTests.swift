import CloakroomKit
import CloakroomKitTesting
import Foundation

/// An app's view model, which backs up photos and says how that went.
@MainActor
final class PhotoModel {
    private let cloakroom: Cloakroom
    private(set) var text = "not begun"

    init(cloakroom: Cloakroom) { self.cloakroom = cloakroom }

    func save(_ photos: [URL]) async {
        let report = await cloakroom.backup.backUp(photos)
        text = report.stoppedBy.map { "stopped by \($0.code.rawValue)" } ?? "\(report.failures.count) left"
    }
}

/// Tests the view model as an app would: with the facade, a server in memory, faults and time.
///
/// - Parameter folder: for the app's files.
/// - Returns: such as `0 left, objects 1, …`.
@MainActor
public func outcomeOfAppTests(photo: URL, folder: URL) async throws -> String {
    let server = TestServer()
    let session = server.sessionTokens()
    let user = try await session.signIn(with: server.identity(forUser: "u_1"))
    let model = PhotoModel(
        cloakroom: try Cloakroom(configuration: server.configuration(folder: folder), user: user, tokens: session))
    var outcome: [String] = []
    server.fail(.putObject, with: .connectionLostAfter)
    await model.save([photo])
    outcome += [model.text, "objects \(server.objects(withPrefix: "photos/u_1/").count)"]
    server.advance(by: .seconds(7200))
    await model.save([photo])
    outcome += [model.text, "vended \(server.count(.vendCredentials))"]
    server.revokeSessions(ofUser: user)
    server.advance(by: .seconds(7200))
    await model.save([photo])
    return (outcome + [model.text]).joined(separator: ", ")
}
