import CloakroomCrypto
import CloakroomLoop
import CloakroomServer
import CloakroomTestSupport
import Foundation
import Testing

@testable import CloakroomCommand

/// The files that a supervisor keeps for the workers that it starts later.
struct SettingsFilesTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func write(_ text: String, _ name: String) throws {
        try text.write(toFile: folder[name], atomically: false, encoding: .utf8)
    }

    private func writeSettings() throws {
        try write("u7Jx2qLr0ZtP5vWc8YbN3mKd6HfGs1Ae", "token")
        try write("x1Jx2qLr0ZtP5vWc8YbN3mKd6HfGs1Ae", "secret")
        try write(Self.template(of: "s3:GetObject"), "look.json")
        try write(
            """
            {
              region: "eu-central-1", bucket: "photos",
              aws: {accessKeyID: "AKID", secretAccessKey: {file: "secret"}},
              tokens: {issuers: [{issuer: "https://auth.example", audiences: ["cloakroom"], secret: {file: "token"}}]},
              vending: {
                roleARN: "arn:aws:iam::000000000000:role/session", scopes: {look: {template: "look.json"}},
              },
            }
            """, "settings")
    }

    private static func template(of action: String) -> String {
        #"{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "\#(action)", "#
            + #""Resource": "arn:${partition}:s3:::${bucket}/photos/${user}/*"}]}"#
    }

    @Test func `come back as they were, those that could not be read too`() throws {
        let bytes: [UInt8] = [0xFF, 0x00, 0x0A]
        try Data(bytes).write(to: URL(fileURLWithPath: folder["key"]))
        try write("", "empty")
        var files = SettingsFiles()
        for name in ["key", "empty", "absent"] { _ = files.bytes(of: folder[name]) }
        var kept = try #require(SettingsFiles(files.text))
        for name in ["key", "empty", "absent", "other"] { try write("later", name) }
        let expected: [(name: String, bytes: [UInt8]?)] = [("key", bytes), ("empty", []), ("absent", nil)]
        for file in expected {
            let (first, second) = (files.bytes(of: folder[file.name]), kept.bytes(of: folder[file.name]))
            #expect(first == file.bytes && second == file.bytes, "\(file.name)")
        }
        #expect(kept.unknown == nil)
        // It is there, and was not read.
        let other = kept.bytes(of: folder["other"])
        #expect(other == nil)
        #expect(kept.unknown == folder["other"])
    }

    @Test(arguments: [
        "", "{", "[]", #"{"a": 1}"#, #"{"a": "*"}"#, #"{"a": {}}"#, #"{"a": null, "a": null}"#,
    ])
    func `no other text holds files`(text: String) { #expect(SettingsFiles(text) == nil) }

    @Test func `settings are loaded from the files as they were`() throws {
        try writeSettings()
        var files = SettingsFiles()
        let before = try SettingsFile.load(folder["settings"], from: &files)
        let digest = try #require(before.vending.scopes["look"]?.digest)
        var kept = try #require(SettingsFiles(files.text))
        try write(Self.template(of: "s3:PutObject"), "look.json")
        let anew = try SettingsFile.load(folder["settings"])
        #expect(anew.vending.scopes["look"]?.digest != digest)
        for name in ["settings", "look.json", "token", "secret"] { try write("{", name) }
        let after = try SettingsFile.require(folder["settings"], from: &kept)
        #expect(after.vending.scopes["look"]?.digest == digest)
        #expect(after.aws.secretAccessKey == before.aws.secretAccessKey)
    }

    @Test func `settings that need another file are refused, though it is on the disk`() throws {
        try writeSettings()
        var files = SettingsFiles()
        _ = files.bytes(of: folder["settings"])
        var kept = try #require(SettingsFiles(files.text))
        do throws(EarlyExit) {
            _ = try SettingsFile.require(folder["settings"], from: &kept)
            Issue.record("they were loaded")
        } catch {
            guard case .failure(let reason) = error else {
                Issue.record("\(error)")
                return
            }
            #expect(reason.contains("did not read \(folder.path)/"))
        }
    }

    @Test func `of the text alone, which supervisors of earlier versions pass, the other files are read`() throws {
        try writeSettings()
        let text = try String(contentsOfFile: folder["settings"], encoding: .utf8)
        try write("{", "settings")
        var files = SettingsFiles(path: folder["settings"], text: text)
        let settings = try SettingsFile.load(folder["settings"], from: &files)
        #expect(settings.vending.scopes["look"] != nil)
    }

    @Test func `are kept up to a size`() throws {
        var files = SettingsFiles()
        try write(String(repeating: "a", count: 3_000_000), "large")
        _ = files.bytes(of: folder["large"])
        let memory = try #require(files.memory)
        #expect(memory.text(limit: WorkerMemory.maximumSettingsBytes) == files.text)
        try write(String(repeating: "a", count: 200_000), "other")
        _ = files.bytes(of: folder["other"])
        #expect(files.memory == nil)
    }
}
