import CloakroomAWS
import CloakroomHTTP
import Testing

struct ObjectStoreTests {
    /// As the stores sent them.
    @Test(
        arguments: [
            (["server": "AmazonS3", "x-amz-request-id": "4442587FB7D0A2F9"], .aws),
            (["x-amz-request-id": "tx00000b1c5f0692d3ffce3-006b036269-101d-default"], .ceph),
            (["server": "Ceph Object Gateway (squid)"], .ceph),
            (["server": "SeaweedFS 30GB 4.48", "x-amz-request-id": "6b036269"], .seaweedfs),
            (["server": "nginx", "x-amz-request-id": "4442587FB7D0A2F9"], nil),
            (["x-amz-request-id": "tx-1-2-3"], nil),
            (["x-amz-request-id": "tx00000b1c5f0692d3ffcez-00-1-default"], nil),
            ([:], nil),
        ] as [(HeaderFields, ObjectStore?)])
    func `is known by what it sends with every answer`(fields: HeaderFields, expected: ObjectStore?) {
        #expect(ObjectStore(fields) == expected)
    }
}
