/// How long photos stay on the device.
public struct RetentionPolicy: Sendable, Equatable, Codable {
    /// Days since a photo was added.
    public enum Period: Sendable, Hashable, Codable, CaseIterable {
        case week, month, quarter
        /// No photo leaves the device.
        case forever

        /// 7, 30 or 90; `nil` for ``forever``.
        public var days: Int? {
            switch self {
            case .week: 7
            case .month: 30
            case .quarter: 90
            case .forever: nil
            }
        }
    }

    /// When photos are uploaded.
    public enum UploadTime: Sendable, Hashable, Codable {
        case whenAdded
        /// When they are as old as the period says, also those that stay on the device, such as pinned ones. Under
        /// ``Period/forever`` as ``whenAdded``: no photo would be due.
        case whenDue
    }

    public var period: Period
    /// Of the photos on the device; above it the least recently viewed leave earlier. `nil`: only the period counts.
    public var hotByteLimit: Int64?
    public var uploadTime: UploadTime

    /// A photo that was viewed so recently stays, however old it is.
    public static let daysAfterView = 7

    public init(period: Period = .month, hotByteLimit: Int64? = nil, uploadTime: UploadTime = .whenAdded) {
        self.period = period
        self.hotByteLimit = hotByteLimit
        self.uploadTime = uploadTime
    }
}
