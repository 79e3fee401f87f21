#if os(Linux)
    import CloakroomKit
    import Foundation
    import Synchronization

    /// Runs programs on hostile files: a few at once, each with limits of its own (`prlimit` of util-linux).
    struct LimitedPrograms: Sendable {
        /// Larger files are cut off by the system, which ends the program.
        static let maximumOutputBytes = 1 << 20

        private let queue: OperationQueue

        init(concurrency: Int) {
            queue = OperationQueue()
            queue.maxConcurrentOperationCount = max(concurrency, 1)
        }

        /// Returns when the program has ended well; it is ended itself when the task is cancelled.
        ///
        /// - Parameters:
        ///   - input: a file at its beginning.
        ///   - output: an empty file.
        ///   - name: of what it reads, for errors.
        func run(
            _ program: URL, _ arguments: [String], input: FileHandle, output: FileHandle,
            _ limits: VipsThumbnailer.Limits, of name: String
        ) async throws(CloakroomError) {
            let run = LimitedProgram(program, arguments, input: input, output: output, limits)
            let result = await withTaskCancellationHandler {
                await withCheckedContinuation { continuation in
                    queue.addOperation { continuation.resume(returning: run.perform()) }
                }
            } onCancel: {
                run.end(as: .cancelled)
            }
            switch result {
            case .done: return
            case .failed: throw Self.unreadable(name)
            case .notStarted:
                throw CloakroomError(.unavailable, "\(program.lastPathComponent) cannot be started: is it installed?")
            case .cancelled: throw .cancelled
            case .timedOut: throw CloakroomError(.timedOut, "the picture in \(name) takes too long")
            }
        }

        static func unreadable(_ name: String) -> CloakroomError {
            CloakroomError(.unreadableFile, "there is no picture in \(name), or none that can be read")
        }
    }

    /// One program, from before its start until it has ended.
    private final class LimitedProgram: Sendable {
        enum End: Sendable { case done, failed, notStarted, cancelled, timedOut }

        private struct State {
            var isRunning = false
            /// Why it is ended early.
            var end: End?
        }

        private let process = Process()
        private let state = Mutex(State())
        private let time: DispatchTimeInterval

        init(
            _ program: URL, _ arguments: [String], input: FileHandle, output: FileHandle,
            _ limits: VipsThumbnailer.Limits
        ) {
            let seconds = Int(limits.time.components.seconds)
            time = .milliseconds(Int(limits.time / .milliseconds(1)))
            process.executableURL = URL(fileURLWithPath: "/usr/bin/prlimit")
            // Twice the time: it counts when this process is gone and watches it no more.
            process.arguments =
                [
                    "--as=\(limits.memory)", "--cpu=\(2 * seconds + 1)", "--core=0",
                    "--fsize=\(LimitedPrograms.maximumOutputBytes)", program.path,
                ] + arguments
            process.environment = [
                "LC_ALL": "C.UTF-8",
                "MALLOC_ARENA_MAX": "1",
                // Nothing is written beside the output.
                "VIPS_DISC_THRESHOLD": "\(limits.memory)",
                "VIPS_CONCURRENCY": "1",
                "VIPS_BLOCK_UNTRUSTED": "1",
                "VIPS_WARNING": "0",
            ]
            process.currentDirectoryURL = URL(fileURLWithPath: "/", isDirectory: true)
            process.standardInput = input
            process.standardOutput = output
            process.standardError = FileHandle.nullDevice
        }

        /// Blocks its thread.
        func perform() -> End {
            let ended = DispatchSemaphore(value: 0)
            process.terminationHandler = { _ in ended.signal() }
            let early: End? = state.withLock { state in
                if let end = state.end { return end }
                do { try process.run() } catch { return .notStarted }
                state.isRunning = true
                return nil
            }
            if let early { return early }
            if ended.wait(timeout: .now() + time) == .timedOut {
                end(as: .timedOut)
                ended.wait()
            }
            let end = state.withLock { state in
                state.isRunning = false
                return state.end
            }
            if let end { return end }
            guard process.terminationReason == .exit else { return .failed }
            switch process.terminationStatus {
            case 0: return .done
            // Of `prlimit`, for a program that is not there, or that may not be run.
            case 126, 127: return .notStarted
            default: return .failed
            }
        }

        func end(as end: End) {
            state.withLock { state in
                if state.end == nil { state.end = end }
                guard state.isRunning, process.isRunning else { return }
                kill(process.processIdentifier, SIGKILL)
            }
        }
    }
#endif
