import CloakroomAWS
import CloakroomCrypto
import Foundation
import CloakroomHTTP

extension S3BackupClient {
    /// A transfer of bytes by the app's transport.
    ///
    /// Each attempt has a minute, and the time that the bytes need at 4 KiB a second; one without progress for half a minute
    /// ends before.
    /// - Parameter bytes: in either direction.
    nonisolated func transfer(
        _ body: HTTPBody = .none, bytes: Int64, to destination: @escaping @Sendable () -> HTTPDestination,
        progress: (@Sendable (HTTPProgress) -> Void)? = nil
    ) -> Transfer {
        let timeout = Duration.seconds(60 + bytes / 4096)
        let transport = transport
        return Transfer(timeout: timeout, deadline: runtime.now().advanced(by: timeout * 3 + .seconds(120))) {
            request, timeout async throws(AWSError) in
            guard let request = HTTPRequest(request, body: body, destination: destination(), timeout: timeout) else {
                throw AWSError(.refused, code: AWSError.unsendable)
            }
            do throws(HTTPTransportError) {
                return UpstreamResponse(try await transport.send(request, progress: progress))
            } catch {
                throw AWSError(error)
            }
        }
    }

    /// Of a body that goes up; the response says little.
    nonisolated func upload(
        _ body: HTTPBody, progress: (@Sendable (HTTPProgress) -> Void)? = nil
    ) -> Transfer {
        transfer(body, bytes: body.byteCount, to: { .memory(maximumBytes: 1 << 16) }, progress: progress)
    }

    /// - Parameter bytes: of a success, more or less: there must be room for what S3 says to explain an error.
    nonisolated func readInMemory(_ bytes: Int) -> Transfer {
        transfer(bytes: Int64(bytes), to: { .memory(maximumBytes: max(bytes, 1 << 16)) })
    }

    /// Hashed off the actor, so that other calls can proceed.
    @concurrent static func md5(_ data: Data) async -> [UInt8] {
        var md5 = MD5()
        data.withUnsafeBytes { md5.update($0) }
        return md5.finalize()
    }
}
