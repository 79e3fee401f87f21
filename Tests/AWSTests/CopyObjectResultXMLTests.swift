@testable import CloakroomAWS
import Testing

struct CopyObjectResultXMLTests {
    private static let start =
        #"<?xml version="1.0" encoding="UTF-8"?>"# + "\n"
        + #"<CopyObjectResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">"#
    private static let date = "<LastModified>2026-11-20T14:00:00.000Z</LastModified>"
    private static let tag = "<ETag>&quot;9b2cf535f27731c9-2&quot;</ETag>"
    private static let end = "</CopyObjectResult>"

    @Test(arguments: [
        start + date + tag + end, start + tag + date + end + "\n", start + tag + end,
        start + date + #"<ETag>"9b2c"</ETag><ChecksumCRC64NVME>Pz+/0a==</ChecksumCRC64NVME>"# + end,
    ])
    func `takes what S3 says of a copy without a tree`(text: String) {
        #expect(CopyObjectResultXML.isPlain(Array(text.utf8)))
    }

    @Test(arguments: [
        "", start, start + tag, start + end, start + date + end, start + "<ETag></ETag>" + end,
        start + "<ETag></ETag>" + tag + end, start + "<ETag/>" + end, start + "<ETag>&lt;</ETag>" + end,
        start + "<a>" + tag + "</a>" + end, start + "<ETag>a</Etag>" + end, start + "<ETag>a</ETag >" + end,
        start + "<1>a</1>" + tag + end, start + tag + end + "<a/>", start + tag + "x" + end,
        "<Error><Code>InternalError</Code></Error>", start + "<Error><Code>SlowDown</Code></Error>" + end,
    ])
    func `leaves anything else to the reader of XML`(text: String) {
        #expect(!CopyObjectResultXML.isPlain(Array(text.utf8)))
    }

    @Test func `takes nothing that the reader of XML would not take, whatever byte is another`() throws {
        let whole = Array((Self.start + Self.date + Self.tag + "<a>b</a>" + Self.end).utf8)
        var taken = 0
        for place in whole.indices {
            for byte in Array("<>/&;\"E1x \n]".utf8) + [0, 0x80] {
                var bytes = whole
                bytes[place] = byte
                guard CopyObjectResultXML.isPlain(bytes) else { continue }
                taken += 1
                let root = try XMLReader.read(bytes)
                #expect(root.hasName("CopyObjectResult") && root.text(of: "ETag")?.isEmpty == false)
            }
            #expect(!CopyObjectResultXML.isPlain(Array(whole[..<place])))
        }
        #expect(taken > 100)
    }
}
