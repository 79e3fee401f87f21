// Copied into each module that is mutated; the tree that it is copied into is for measuring tests alone.
#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// Which mutant is on: the number in the environment variable `CLOAKROOM_MUTANT`, read once.
///
/// Where `CLOAKROOM_MUTANT_RECORD` names a file, each mutant that is reached is written to it, a number a line, once a process.
enum Mutant {
    private static let active = getenv("CLOAKROOM_MUTANT").flatMap { Int(String(cString: $0)) } ?? 0
    private static let record = getenv("CLOAKROOM_MUTANT_RECORD").map {
        open($0, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o644)
    }
    // Two threads may both note the same mutant: then its line stands there twice.
    private nonisolated(unsafe) static let reached = {
        let reached = UnsafeMutablePointer<Bool>.allocate(capacity: 1 << 16)
        reached.initialize(repeating: false, count: 1 << 16)
        return reached
    }()

    static func isOn(_ number: Int) -> Bool {
        if let record, !reached[number] {
            reached[number] = true
            let line = "\(number)\n"
            _ = line.withCString { write(record, $0, line.utf8.count) }
        }
        return number == active
    }
}
