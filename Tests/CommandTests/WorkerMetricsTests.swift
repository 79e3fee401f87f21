import CloakroomLoop
import CloakroomServer
import CloakroomTestSupport
import Foundation
import Testing

@testable import CloakroomCommand

@Suite(.onLoop)
struct WorkerMetricsTests {
    @LoopActor private func settings(metricsFolder: String?) throws -> Settings {
        let folder = try TemporaryFolder()
        let server = metricsFolder.map { "server: {metricsFolder: '\($0)'}," } ?? ""
        let text = """
            {
              region: "eu-central-1", bucket: "photos",
              aws: {accessKeyID: "AKID", secretAccessKey: {file: "secret"}},
              tokens: {issuers: [{issuer: "https://auth.example", audiences: ["cloakroom"], secret: {file: "token"}}]},
              vending: {roleARN: "arn:aws:iam::000000000000:role/session"}, \(server)
            }
            """
        try "u7Jx2qLr0ZtP5vWc8YbN3mKd6HfGs1Ae".write(toFile: folder["token"], atomically: false, encoding: .utf8)
        try "x1Jx2qLr0ZtP5vWc8YbN3mKd6HfGs1Ae".write(toFile: folder["secret"], atomically: false, encoding: .utf8)
        try text.write(toFile: folder["settings"], atomically: false, encoding: .utf8)
        return try SettingsFile.load(folder["settings"])
    }

    @Test @LoopActor func `a worker whose supervisor's folder is gone counts for itself`() throws {
        let own = try settings(metricsFolder: nil)
        let log = Log(sink: nil, level: .error)
        let folder = try TemporaryFolder()
        #expect(try ServiceDependencies.metrics(own, folder.path, of: "w", log).folder != nil)
        // Nothing can be made there.
        #expect(try ServiceDependencies.metrics(own, "/dev/null/gone", of: "w", log).folder == nil)
    }

    @Test @LoopActor func `a folder that the settings name has to be there`() throws {
        let named = try settings(metricsFolder: "/dev/null/gone")
        #expect(throws: SystemError.self) {
            try ServiceDependencies.metrics(named, nil, of: "w", Log(sink: nil, level: .error))
        }
    }
}
