import CloakroomBenchSupport
import Foundation

/// Reads whole files with the least that it takes: open, its size, read, close.
enum Whole {
    static func file(_ path: String) throws -> Data {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw BenchError("\(path) cannot be opened") }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw BenchError("\(path) cannot be read") }
        let size = Int(status.st_size)
        guard let memory = malloc(max(1, size)) else { throw BenchError("no memory for \(path)") }
        let data = Data(bytesNoCopy: memory, count: size, deallocator: .free)
        guard read(descriptor, memory, size) == size else { throw BenchError("\(path) cannot be read") }
        return data
    }
}
