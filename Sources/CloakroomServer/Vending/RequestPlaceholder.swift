#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif
import CloakroomWire

/// A placeholder of a template whose value each request for credentials has anew.
///
/// Credentials whose policy has one are made for one request alone: they are neither kept nor given to another.
package enum RequestPlaceholder: Sendable, Hashable {
    /// `${clientAddress}`: from where the request comes, as nginx says.
    case clientAddress
    /// `${now+900s}`: so many seconds after the request, by AWS' clock: see ``WindowClock``.
    case later(seconds: Int)

    /// AssumeRole's longest session. A window of less than a minute would be over before the credentials are used.
    static let windows = 60...43_200

    static let rules =
        "${clientAddress} under IpAddress as aws:SourceIp, ${now+900s} with \(windows.lowerBound) to \(windows.upperBound)"
        + " seconds under DateLessThan or DateLessThanEquals as aws:CurrentTime"

    /// - Parameter text: with `${` and `}` around it.
    package init?(_ text: String) {
        if text == "${clientAddress}" {
            self = .clientAddress
        } else if let match = text.wholeMatch(of: /\$\{now\+([1-9][0-9]{0,4})s\}/), let seconds = Int(match.1),
            Self.windows.contains(seconds)
        {
            self = .later(seconds: seconds)
        } else {
            return nil
        }
    }

    var text: String {
        switch self {
        case .clientAddress: "${clientAddress}"
        case .later(let seconds): "${now+\(seconds)s}"
        }
    }

    /// The one condition key whose values may be this, in lower case, and the operators under which it narrows.
    func isAllowed(under operation: String, on key: String) -> Bool {
        switch self {
        case .clientAddress: operation == "IpAddress" && key == "aws:sourceip"
        case .later: ["DateLessThan", "DateLessThanEquals"].contains(operation) && key == "aws:currenttime"
        }
    }
}

/// What stands for the placeholders of one request.
package struct RequestCircumstances: Sendable, Hashable {
    /// An address as S3 sees it.
    package let address: String
    package let time: Date

    package init(address: String, time: Date) {
        self.address = address
        self.time = time
    }

    /// Those whose texts are the longest.
    static let longest = RequestCircumstances(
        address: "2001:0db8:1111:2222:3333:4444:5555:6666", time: Date(timeIntervalSince1970: 1_798_761_599))

    func value(of placeholder: RequestPlaceholder) -> String {
        switch placeholder {
        case .clientAddress: address
        // Rounded down by the text: from the given time on, the window is never longer than it says.
        case .later(let seconds): time.addingTimeInterval(Double(seconds)).wireText
        }
    }
}
