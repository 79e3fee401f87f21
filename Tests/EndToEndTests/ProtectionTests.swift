import Foundation
import Testing

extension EndToEnd {
    /// A core file of a worker would hold secrets; an audit that cannot be written keeps it from starting.
    @Suite struct Protecting {
        private static func limit(_ process: pid_t) -> String {
            RunFolder.text(of: "/proc/\(process)/limits").components(separatedBy: "\n")
                .first { $0.hasPrefix("Max core file size") } ?? ""
        }

        @Test func `neither supervisor nor worker leaves a core file, unless the settings say so`() throws {
            for allowed in [false, true] {
                let options = Stack.Options(workers: 1, shell: #"ulimit -c unlimited; exec "$@""#) {
                    if allowed { $0["server.coreDumps"] = true }
                }
                try Stack.run("core-\(allowed)", options) { stack in
                    let processes = [try #require(stack.server).pid] + stack.workers
                    for process in processes {
                        #expect(Self.limit(process).contains(" 0 ") == !allowed)
                    }
                }
            }
        }

        @Test func `check says where lines of the audit may be lost`() throws {
            let folder = try RunFolder.make("audit-loss")
            let file = "\(folder)/settings.json5"
            var settings = TestSettings(folder: folder, upstream: "http://127.0.0.1:9")
            func notes() throws -> [String] {
                try settings.write(to: file)
                let check = try Command(["check", file])
                #expect(check.status == 0, "\(check.text)")
                return check.text.split(separator: "\n").map(String.init).filter { $0.hasPrefix("Audit: ") }
            }
            #expect(try notes() == [])
            settings["audit.file"] = nil
            #expect(try notes().map { $0.prefix(25) } == ["Audit: to standard error,"])
            settings["audit.stream"] = "audit"
            #expect(try notes() == [])
            settings["redis.address"] = nil
            settings["redis.cluster"] = ["127.0.0.1:1"]
            let note = try #require(try notes().first)
            #expect(note.contains("a failover may lose lines of what was issued"))
        }

        @Test func `check and doctor find an audit file that cannot be written`() throws {
            let folder = try RunFolder.make("audit-check")
            let file = "\(folder)/settings.json5"
            var settings = TestSettings(folder: folder, upstream: "http://127.0.0.1:9")
            for (path, reason) in [
                ("\(folder)/none/audit.log", "No such file or directory"), (folder, "Is a directory"),
                ("/proc/sys/audit.log", "Permission denied"),
            ] {
                settings["audit.file"] = path
                try settings.write(to: file)
                let check = try Command(["check", file])
                #expect(check.status == 1)
                #expect(check.text.contains("audit.file: ") && check.text.contains(reason), "\(check.text)")
                let doctor = try Command(["doctor", "--settings", file, "--only", "settings"])
                #expect(doctor.status == 1)
                #expect(doctor.text.contains("audit.file cannot be written"), "\(doctor.text)")
            }
            #expect(!FileManager.default.fileExists(atPath: "\(folder)/none"))
        }
    }
}
