/// A certificate that has signed itself, and its key: files in a folder.
package struct TestCertificate: Sendable {
    package let key: String
    package let certificate: String

    /// Blocks the thread until openssl has made it.
    ///
    /// - Parameters:
    ///   - name: the one it is for, such as `DNS:localhost` or `IP:127.0.0.1`.
    ///   - isAuthority: as openssl makes them unless told otherwise; rustls takes no authority's for a server's.
    package init(for name: String, in folder: TemporaryFolder, isAuthority: Bool = true) throws {
        key = folder["key.pem"]
        certificate = folder["certificate.pem"]
        try Program.run(
            "openssl",
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1",
                "-subj", "/CN=test", "-addext", "subjectAltName=\(name)", "-addext",
                "basicConstraints=critical,CA:\(isAuthority ? "TRUE" : "FALSE")", "-keyout", key, "-out", certificate,
            ])
    }
}
