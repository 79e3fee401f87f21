import Foundation

/// The openssl command as a server of TLS on 127.0.0.1, with a certificate that it has signed itself.
package struct TLSServer: Sendable {
    private let program: Program
    private let folder: TemporaryFolder
    package var certificate: String { folder["certificate.pem"] }

    /// Blocks the thread until it listens.
    ///
    /// - Parameters:
    ///   - name: the one the certificate is for, such as `IP:127.0.0.1`.
    ///   - days: how long it is valid from now on; it has ended already with a negative number.
    package init(name: String, days: Int = 1, options: [String] = []) throws {
        folder = try TemporaryFolder()
        let (key, certificate, request) = (folder["key.pem"], folder["certificate.pem"], folder["request.pem"])
        try Program.run(
            "openssl",
            [
                "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                "-subj", "/CN=test", "-addext", "subjectAltName=\(name)", "-keyout", key, "-out", request,
            ])
        // From OpenSSL 3.4 on `-days` takes no negative number, and only from there on there are dates.
        let ended = ["-not_before", "20200101000000Z", "-not_after", "20200102000000Z"]
        let validity = days < 0 ? [ended, ["-days", "\(days)"]] : [["-days", "\(days)"]]
        var fault: (any Error)?
        for words in validity {
            do {
                try Program.run(
                    "openssl",
                    ["x509", "-req", "-in", request, "-signkey", key, "-copy_extensions", "copy", "-out", certificate]
                        + words)
                fault = nil
                break
            } catch { fault = error }
        }
        if let fault { throw fault }
        program = try Program(
            "openssl",
            arguments: ["s_server", "-accept", "127.0.0.1:0", "-www", "-key", key, "-cert", certificate] + options,
            until: "ACCEPT 127.0.0.1:")
    }

    package var url: String {
        let line = program.announced.components(separatedBy: "ACCEPT 127.0.0.1:").last ?? ""
        return "https://127.0.0.1:\(line.prefix { $0.isNumber })/"
    }
}
