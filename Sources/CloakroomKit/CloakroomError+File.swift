package import Foundation

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

extension CloakroomError {
    /// Of a system call that failed just now.
    ///
    /// - Parameters:
    ///   - doing: such as `open`.
    ///   - number: of the error.
    package static func file(_ doing: String, _ file: URL, number: Int32 = errno) -> CloakroomError {
        let code: Code = number == ENOSPC || number == EDQUOT ? .diskFull : .unwritableFile
        return CloakroomError(code, "\(doing) \(file.lastPathComponent): \(String(cString: strerror(number)))")
    }

    /// Of Foundation, which could not write a file or make a folder.
    package static func writing(_ file: URL, _ error: any Error) -> CloakroomError {
        let isFull = (error as? CocoaError)?.code == .fileWriteOutOfSpace
        return CloakroomError(
            isFull ? .diskFull : .unwritableFile, "\(file.lastPathComponent): \(error.localizedDescription)")
    }
}
