// Apple's Foundation: the open one, and what the sources use beyond it. Never run: for the type checker alone.
@_exported import Darwin
@_exported import Dispatch
@_exported import Foundation
@_exported import FoundationNetworking

extension URLSessionConfiguration {
    public var waitsForConnectivity: Bool {
        get { never() }
        set { never() }
    }
    public var allowsExpensiveNetworkAccess: Bool {
        get { never() }
        set { never() }
    }
    public var allowsConstrainedNetworkAccess: Bool {
        get { never() }
        set { never() }
    }
}

// https://developer.apple.com/documentation/foundation/urlsessionconfiguration
extension URLSessionConfiguration {
    public class func background(withIdentifier identifier: String) -> URLSessionConfiguration { never() }
    public var isDiscretionary: Bool {
        get { never() }
        set { never() }
    }
    public var sessionSendsLaunchEvents: Bool {
        get { never() }
        set { never() }
    }
}

// https://developer.apple.com/documentation/foundation/urlsession/alltasks
extension URLSession {
    public var allTasks: [URLSessionTask] { get async { never() } }
}

extension Stream {
    public class func getBoundStreams(
        withBufferSize bufferSize: Int, inputStream: UnsafeMutablePointer<InputStream?>?,
        outputStream: UnsafeMutablePointer<OutputStream?>?
    ) { never() }
}

extension URLError {
    public enum NetworkUnavailableReason: Int, Sendable {
        case cellular, expensive, constrained
    }

    public var networkUnavailableReason: NetworkUnavailableReason? { never() }
}

extension URLResourceValues {
    public var isExcludedFromBackup: Bool? {
        get { never() }
        set { never() }
    }
}

private func never() -> Never { preconditionFailure("a stub") }
