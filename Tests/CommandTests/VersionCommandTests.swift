import Testing

@testable import CloakroomCommand

struct VersionCommandTests {
    @Test func `has each library that libcurl names`() {
        let libraries = VersionCommand.libraries(
            in: "libcurl/7.88.1 OpenSSL/3.0.17 libpsl/0.21.2 (+libidn2/2.3.3) libssh2/1.10.0 nghttp2/1.52.0 rtmp")
        #expect(
            libraries.map { "\($0.name) \($0.version)" } == [
                "libcurl 7.88.1", "OpenSSL 3.0.17", "libpsl 0.21.2", "libidn2 2.3.3", "libssh2 1.10.0",
                "nghttp2 1.52.0",
            ])
    }
}
