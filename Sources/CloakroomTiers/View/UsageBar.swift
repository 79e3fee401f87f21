/// A bar of how much is used, "x of y".
public struct UsageBar: Sendable, Equatable {
    /// Which of two bars: how much of the library is on this device, how much of the cold tier's quota is used.
    public enum Kind: Sendable, Hashable { case library, quota }

    public var kind: Kind
    public var usedBytes: Int64
    public var totalBytes: Int64

    /// From 0 to 1, also where more is used than there is.
    public var fraction: Double { totalBytes > 0 ? min(1, max(0, Double(usedBytes) / Double(totalBytes))) : 0 }
}

extension StorageSettingsModel.State {
    /// The library's bar, and the quota's where the cold tier has one. Empty until the usage was read.
    public var bars: [UsageBar] {
        guard let usage, let remote else { return [] }
        let here = usage.hotBytes + usage.catalogBytes
        let library = UsageBar(kind: .library, usedBytes: here, totalBytes: here + remote.byteCount)
        guard let quota else { return [library] }
        return [library, UsageBar(kind: .quota, usedBytes: quota.usedBytes, totalBytes: quota.totalBytes)]
    }
}
