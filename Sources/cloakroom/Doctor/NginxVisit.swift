import CloakroomCurl
import CloakroomHTTP
import CloakroomLoop

/// The way to nginx, for one check.
@LoopActor
struct NginxVisit {
    /// Without a slash at the end.
    let url: String
    let transport: LoopCurlTransport

    /// - Returns: `nil` where nginx is not checked.
    init?(_ options: DoctorRun.DoctorOptions) {
        guard var url = options.url else { return nil }
        while url.hasSuffix("/") { url.removeLast() }
        self.url = url
        var curl = LoopCurlTransport.Options()
        curl.certificateAuthorities = options.certificateAuthorities
        curl.readsCertificates = true
        transport = LoopCurlTransport(options: curl)
    }

    func send(
        _ method: String, _ path: String, _ fields: HeaderFields = [:], body: [UInt8] = []
    ) async -> Result<UpstreamResponse, TransportError> {
        do throws(TransportError) {
            return .success(
                try await transport.send(
                    UpstreamRequest(method: method, url: url + path, fields: fields, body: body), timeout: .seconds(5)))
        } catch {
            return .failure(error)
        }
    }
}
