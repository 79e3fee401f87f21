import CloakroomWire
import Foundation
import Testing

struct ReleaseRequestsTests {
    private func outcome(_ text: String) -> Result<[ReleaseItem], ReleaseRequestError> {
        Result { () throws(ReleaseRequestError) in try ReleaseBatchRequest(parsing: Array(text.utf8)).images }
    }

    private func images(_ count: Int) -> String {
        let images = (0..<count).map { #"{"key":"chats/\#($0).bin","releaseToken":"v1.\#($0)"}"# }
        return #"{"images":[\#(images.joined(separator: ","))]}"#
    }

    @Test func `keeps images as they came, duplicates and impossible ones too`() throws {
        let items = [
            ReleaseItem(key: "chats/a.bin", releaseToken: "v1.x"), ReleaseItem(key: "", releaseToken: "é"),
            ReleaseItem(key: "chats/a.bin", releaseToken: "v1.x"),
        ]
        let request = ReleaseBatchRequest(images: items)
        #expect(try ReleaseBatchRequest(parsing: request.encoded) == request)
        #expect(
            outcome(#"{"images":[{"releaseToken":"v1.x","key":"chats/a.bin","more":[1]}],"other":{}}"#)
                == .success([items[0]]))
    }

    @Test func `takes one to a hundred`() throws {
        for count in [1, 100] { #expect(try outcome(images(count)).get().count == count) }
        #expect(outcome(images(101)) == .failure(.tooManyImages))
        for text in ["{}", #"{"images":[]}"#, #"{"images":{}}"#, #"{"Images":[1]}"#] {
            #expect(outcome(text) == .failure(.noImages))
        }
    }

    @Test(arguments: [
        "", "[]", "{", #"{"images":[1]}"#, #"{"images":["a"]}"#, #"{"images":[{}]}"#, #"{"images":[{"key":"a"}]}"#,
        #"{"images":[{"key":"a","releaseToken":null}]}"#, #"{"images":[{"key":1,"releaseToken":"b"}]}"#,
        #"{"images":[{"key":"a","key":"b","releaseToken":"c"}]}"#, #"{"images":[{"key":"a","releaseToken":"b"},]}"#,
        #"{"images":[{"key":"\ud800","releaseToken":"b"}]}"#,
    ])
    func `refuses a body that is no request`(text: String) { #expect(outcome(text) == .failure(.invalidBody)) }

    @Test func `writes what became of each image, and reads a word that it does not know as one to send again`() throws
    {
        let date = Date(timeIntervalSince1970: 1_773_475_200)
        let body = ReleaseBatchBody(results: [
            ReleaseResult(key: "a", bytesGoneBy: nil), ReleaseResult(key: "b", bytesGoneBy: date),
            ReleaseResult(key: "c", failure: .unavailable),
        ])
        let text =
            #"{"released":2,"failed":1,"results":[{"key":"a","success":true},"#
            + #"{"key":"b","success":true,"bytesGoneBy":"2026-03-14T08:00:00Z"},"#
            + #"{"key":"c","success":false,"error":"unavailable"}]}"#
        #expect(String(decoding: body.encoded, as: UTF8.self) == text)
        #expect(try wireDecoder.decode(ReleaseBatchBody.self, from: Data(text.utf8)) == body)
        let later = try wireDecoder.decode(
            ReleaseResult.self, from: Data(#"{"key":"a","success":false,"error":"moon"}"#.utf8))
        #expect(later.error == .internalError)
    }

    @Test func `no token is printed`() {
        let item = ReleaseItem(key: "a", releaseToken: "v1.secret")
        var text = ""
        dump(ReleaseBatchRequest(images: [item]), to: &text)
        let upload = UploadBody(
            objectKey: "k", uploadUrl: "https://u", assetUrl: "https://a", expiresAt: Date(), headers: [:],
            releaseToken: "v1.secret")
        dump(upload, to: &text)
        let parts = MultipartUploadBody(
            uploadId: "i", objectKey: "k", assetUrl: "https://a", partBytes: 1, partCount: 1, expiresAt: Date(),
            releaseToken: "v1.secret")
        dump(parts, to: &text)
        #expect(!(text + "\(item) \(upload) \(parts)").contains("secret"))
    }
}
