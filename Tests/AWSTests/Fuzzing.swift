import CloakroomKitTestSupport

/// The same dice at every run.
typealias SeededGenerator = CloakroomKitTestSupport.SeededGenerator

extension [UInt8] {
    /// A few bytes changed, dropped, doubled or replaced by what parsers stumble over.
    func mutated(using generator: inout SeededGenerator) -> [UInt8] {
        let stumbles = [
            "<", ">", "&", "&amp;", "&#38;", "]]>", "<![CDATA[", "<!--", "-->", "<a/>", "</", "\"", "\r\n", "é",
        ]
        var bytes = self
        for _ in 0..<Int.random(in: 0...3, using: &generator) where !bytes.isEmpty {
            let place = Int.random(in: bytes.indices, using: &generator)
            switch Int.random(in: 0..<5, using: &generator) {
            case 0: bytes[place] = UInt8.random(in: .min ... .max, using: &generator)
            case 1: bytes.remove(at: place)
            case 2: bytes.removeSubrange(place..<Swift.min(bytes.count, place + 20))
            case 3: bytes.insert(contentsOf: bytes[place..<Swift.min(bytes.count, place + 30)], at: place)
            default: bytes.insert(contentsOf: (stumbles.randomElement(using: &generator) ?? "").utf8, at: place)
            }
        }
        return bytes
    }
}

/// Answers as the services write them.
enum UpstreamDocuments {
    static let copied = Array(
        """
        <?xml version="1.0" encoding="UTF-8"?>
        <CopyObjectResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">\
        <LastModified>2026-11-20T14:00:00.000Z</LastModified><ETag>&quot;9b2cf535f27731c9&quot;</ETag></CopyObjectResult>
        """.utf8)

    static let error = Array(
        """
        <?xml version="1.0" encoding="UTF-8"?>
        <Error><Code>NoSuchKey</Code><Message>The specified key does not exist.</Message><Key>a&#x1F600;&lt;b</Key>\
        <RequestId>1</RequestId><HostId/></Error>
        """.utf8)

    static let assumed = Array(
        """
        <AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
          <AssumeRoleResult>
            <AssumedRoleUser>
              <AssumedRoleId>AROA123EXAMPLE123:u_1</AssumedRoleId>
              <Arn>arn:aws:sts::123456789012:assumed-role/vending/u_1</Arn>
            </AssumedRoleUser>
            <Credentials>
              <AccessKeyId>ASIAIOSFODNN7EXAMPLE</AccessKeyId>
              <SecretAccessKey>wJalrXUtnFEMI/K7MDENG/bPxRfiCYzEXAMPLEKEY</SecretAccessKey>
              <SessionToken>AQoDYXdzEPT//////////wEXAMPLE+/==</SessionToken>
              <Expiration>2026-11-20T15:00:00Z</Expiration>
            </Credentials>
            <PackedPolicySize>6</PackedPolicySize>
          </AssumeRoleResult>
          <ResponseMetadata><RequestId>c6104cbe-af31-11e0-8154-cbc7ccf896c7</RequestId></ResponseMetadata>
        </AssumeRoleResponse>
        """.utf8)
}
