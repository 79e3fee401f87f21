// Apple's C library: glibc, and what the sources use beyond it. Never run: for the type checker alone.
@_exported import Glibc

extension stat {
    public var st_mtimespec: timespec { preconditionFailure("a stub") }
    public var st_ctimespec: timespec { preconditionFailure("a stub") }
}

public var F_FULLFSYNC: Int32 { preconditionFailure("a stub") }

/// https://developer.apple.com/documentation/kernel/1387446-sysctlbyname
public func sysctlbyname(
    _ name: UnsafePointer<CChar>!, _ oldValue: UnsafeMutableRawPointer!, _ oldSize: UnsafeMutablePointer<Int>!,
    _ newValue: UnsafeMutableRawPointer!, _ newSize: Int
) -> Int32 { 0 }
