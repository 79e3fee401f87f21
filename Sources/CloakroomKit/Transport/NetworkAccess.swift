/// Which networks may be used. It matters on Apple's systems only.
public struct NetworkAccess: Sendable, Equatable {
    /// Networks that cost money by the byte, such as mobile ones and personal hotspots.
    public var allowsExpensive: Bool
    /// Networks in low data mode.
    public var allowsConstrained: Bool

    public init(allowsExpensive: Bool, allowsConstrained: Bool) {
        self.allowsExpensive = allowsExpensive
        self.allowsConstrained = allowsConstrained
    }

    /// Whatever network there is: for what the user waits for.
    public static var unrestricted: NetworkAccess { NetworkAccess(allowsExpensive: true, allowsConstrained: true) }
    /// Only networks that are free and not in low data mode: for work in the background.
    public static var inexpensive: NetworkAccess { NetworkAccess(allowsExpensive: false, allowsConstrained: false) }
}
