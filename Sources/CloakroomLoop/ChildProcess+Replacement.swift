import CloakroomCLinux

extension ChildProcess {
    /// Runs another program in place of this one (execve(2)): the process id, the children, and the signals that are
    /// blocked or pending stay. Returns only when that failed.
    ///
    /// - Parameters:
    ///   - arguments: the first is the program's own name.
    ///   - descriptors: stay open under their numbers; every other one beyond standard error closes.
    package static func replaceProgram(
        with path: String, arguments: [String], keeping descriptors: [Int32]
    ) -> SystemError {
        for descriptor in descriptors { _ = cloakroom_close_on_exec(descriptor, 0) }
        defer { for descriptor in descriptors { _ = cloakroom_close_on_exec(descriptor, 1) } }
        return unsafe withArguments(arguments) { words in
            _ = unsafe execve(path, words, cloakroom_environment())
            return SystemError()
        }
    }
}
