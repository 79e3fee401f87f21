import CloakroomBenchSupport
import Foundation

#if os(Linux)
    import CloakroomCSQLite

    /// Counts what SQLite writes in this process, by the system call that its tests replace for the like.
    ///
    /// Source: https://sqlite.org/c3ref/vfs.html, `xSetSystemCall`.
    enum SQLiteWrites {
        struct Counts: Sendable {
            var walBytes = 0
            var calls = 0
        }

        private static let counts = Locked(Counts())

        static var now: Counts { counts.withLock { $0 } }

        /// To be called before a database is opened.
        static func begin() throws {
            typealias Write = @convention(c) (Int32, UnsafeRawPointer?, Int, off_t) -> Int
            let write: Write = { descriptor, bytes, count, offset in
                let written = pwrite(descriptor, bytes, count, offset)
                SQLiteWrites.count(descriptor, written)
                return written
            }
            guard let system = sqlite3_vfs_find(nil), let replace = system.pointee.xSetSystemCall,
                let find = system.pointee.xGetSystemCall
            else { throw BenchError("this SQLite's system calls cannot be replaced") }
            // One of the two is what this SQLite uses.
            var replaced = 0
            for name in ["pwrite", "pwrite64"] where name.withCString({ find(system, $0) }) != nil {
                let code = name.withCString { replace(system, $0, unsafeBitCast(write, to: sqlite3_syscall_ptr.self)) }
                replaced += code == SQLITE_OK ? 1 : 0
            }
            guard replaced > 0 else { throw BenchError("this SQLite does not use pwrite") }
        }

        private static func count(_ descriptor: Int32, _ written: Int) {
            var path = [CChar](repeating: 0, count: 4096)
            let length = readlink("/proc/self/fd/\(descriptor)", &path, path.count - 1)
            let suffix = path[max(0, length - 4)..<max(0, length)]
            let isWAL = suffix.elementsEqual("-wal".utf8.map { CChar(bitPattern: $0) })
            counts.withLock { counts in
                counts.calls += 1
                if isWAL { counts.walBytes += max(0, written) }
            }
        }
    }
#endif
