import CloakroomWire
import Foundation
import Testing

@testable import CloakroomKit

@Suite struct ClientReleaseTests {
    private func images(_ names: String...) -> [ImageRelease] {
        names.map { ImageRelease(objectKey: "chats/\($0)", releaseToken: "v1.\($0)") }
    }

    private func results(_ results: String) -> String { #"{"released":0,"failed":0,"results":[\#(results)]}"# }

    @Test func `sends keys with their tokens, and returns what the server said of each`() async throws {
        let http = ScriptedHTTP(
            .json(
                200,
                results(
                    #"{"key":"chats/a","success":true},"#
                        + #"{"key":"chats/b","success":true,"bytesGoneBy":"2026-12-20T00:00:00Z"},"#
                        + #"{"key":"chats/c","success":false,"error":"forbidden"},"#
                        + #"{"key":"chats/d","success":false,"error":"unavailable"},"#
                        + #"{"key":"chats/e","success":false,"error":"internal_error"},"#
                        + #"{"key":"chats/f","success":false,"error":"moon"},"#
                        + #"{"key":"chats/g","success":true,"error":"forbidden"}"#)))
        let all = images("a", "b", "c", "d", "e", "f", "g")
        let outcomes: [ImageReleaseResult.Outcome] = [
            .released(bytesGoneBy: nil), .released(bytesGoneBy: Date(timeIntervalSince1970: 1_797_724_800)),
            .refused(reason: "forbidden"), .failed(reason: "unavailable"), .failed(reason: "internal_error"),
            .failed(reason: "internal_error"), .failed(reason: "contradiction"),
        ]
        #expect(
            try await CloakroomClient.test(http).release(all)
                == zip(all, outcomes).map { ImageReleaseResult(objectKey: $0.objectKey, outcome: $1) })
        #expect(await http.lines == ["POST https://api.example/v2/assets/release-batch"])
        #expect(await http.sent[0].text.hasPrefix(#"{"images":[{"key":"chats/a","releaseToken":"v1.a"},"#))
    }

    @Test func `a result about another key counts for nothing`() async throws {
        let http = ScriptedHTTP(
            .json(200, results(#"{"key":"chats/b","success":true},{"key":"chats/b","success":true}"#)))
        #expect(
            try await CloakroomClient.test(http).release(images("a", "b"))
                == [ImageReleaseResult(objectKey: "chats/b", outcome: .released(bytesGoneBy: nil))])
    }

    @Test(arguments: [0, 101]) func `sends no batch of another size`(count: Int) async throws {
        let http = ScriptedHTTP(.json(200, results("")))
        let all = (0..<count).map { ImageRelease(objectKey: "chats/\($0)", releaseToken: "v1.x") }
        let error = await #expect(throws: CloakroomError.self) { try await CloakroomClient.test(http).release(all) }
        #expect(error?.code == .invalidRequest)
        #expect(await http.lines == [])
    }

    @Test func `where the operator has set up nothing, that is said`() async throws {
        let http = ScriptedHTTP(
            .json(404, #"{"error":"Images of chats are not set up here","code":"chat_not_enabled"}"#))
        let error = await #expect(throws: CloakroomError.self) {
            try await CloakroomClient.test(http).release(images("a"))
        }
        #expect(error?.code == .chatNotEnabled)
    }

    @Test func `an upload for a chat says so, and keeps its token out of descriptions`() async throws {
        let body = UploadBody(
            objectKey: "chats/k.bin", uploadUrl: "https://s3.example/k", assetUrl: "https://cdn.example/chats/k.bin",
            expiresAt: Date(timeIntervalSince1970: 1_900_000_000), headers: [:], releaseToken: "v1.secret")
        let http = ScriptedHTTP(.json(200, String(decoding: body.encoded, as: UTF8.self)))
        let target = try await CloakroomClient.test(http).requestChatUpload(contentType: "image/png", byteCount: 5)
        #expect(target.releaseToken == "v1.secret")
        #expect(await http.lines.allSatisfy { $0.contains("&purpose=chat") })
        let image = ChatImage(target, uploadedAt: Date(), retention: .seconds(5))
        #expect(image.release == ImageRelease(objectKey: "chats/k.bin", releaseToken: "v1.secret"))
        var text = ""
        dump(target, to: &text)
        dump(image, to: &text)
        dump(image.release, to: &text)
        #expect(!text.contains("secret"))
    }

    /// It ignores the purpose, and the object would be among those that are kept.
    @Test func `a worker that is older than purposes is no place for images of chats`() async throws {
        let body = UploadBody(
            objectKey: "k.bin", uploadUrl: "https://s3.example/k", assetUrl: "https://cdn.example/k.bin",
            expiresAt: Date(timeIntervalSince1970: 1_900_000_000), headers: [:])
        let http = ScriptedHTTP(.json(200, String(decoding: body.encoded, as: UTF8.self)))
        let error = await #expect(throws: CloakroomError.self) {
            try await CloakroomClient.test(http).requestChatUpload(contentType: "image/png", byteCount: 5)
        }
        #expect(error?.code == .chatNotEnabled)
    }
}
