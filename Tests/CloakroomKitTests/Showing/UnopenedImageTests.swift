#if os(Linux)
    import CloakroomCrypto
    import Foundation
    import Glibc
    import Testing

    @testable import CloakroomKit

    /// A file that the system does not open now, as while a device is locked: here another has a lease of it (`fcntl(2)`,
    /// "Leases"), so that opening it fails with `EWOULDBLOCK`.
    private final class Lease {
        private let descriptor: Int32

        init(of file: URL) throws {
            // The holder of a lease is told of each attempt by this signal, which would end the process.
            signal(SIGIO, SIG_IGN)
            descriptor = open(file.path, O_RDWR | O_CLOEXEC)
            // F_SETLEASE
            guard descriptor >= 0, fcntl(descriptor, 1024, F_WRLCK) == 0 else { throw CocoaError(.fileReadUnknown) }
        }

        deinit { close(descriptor) }
    }

    @Suite struct UnopenedImageTests {
        @Test func `a cached image that cannot be opened now stays, and is loaded meanwhile`() async throws {
            let bench = try BackupBench()
            let folder = try TemporaryFolder()
            let photo = numbered(40)
            let md5 = MD5.hash(photo).hexadecimal
            await bench.s3.store("photos/u_1/\(md5).dat", photo)
            let images = try ImageLoader(
                folder: folder.url, owner: .test, client: bench.client(), layout: try PhotoLayout(userID: "u_1"),
                transport: ScriptedHTTP(), serverClock: nil, runtime: bench.fake.runtime)
            let file = try await images.file(for: .photo(md5: md5))
            let requests = await bench.http.sent.count
            do {
                let lease = try Lease(of: file)
                #expect(try await images.data(for: .photo(md5: md5)) == photo)
                #expect(await bench.http.sent.count > requests)
                withExtendedLifetime(lease) {}
            }
            await bench.s3.delete("photos/u_1/\(md5).dat")
            do {
                let lease = try Lease(of: file)
                #expect(await bench.code { try await images.data(for: .photo(md5: md5)) } == .noSuchObject)
                withExtendedLifetime(lease) {}
            }
            bench.fake.pass(.seconds(3600))
            let later = await bench.http.sent.count
            #expect(try await images.data(for: .photo(md5: md5)) == photo)
            #expect(await bench.http.sent.count == later)
        }
    }
#endif
