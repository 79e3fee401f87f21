/// What the storage settings are about to do, or have done: one thing at a time.
public enum StorageTask: Sendable, Equatable {
    case none
    /// Counting what freeing space, downloading all photos, or accepting another account would do.
    case counting
    /// What freeing space would do: the user decides.
    case confirmFreeing(TieringReport)
    case freeing(PhotoCount)
    case freed(TieringReport)
    /// What downloading all photos takes: the user decides, where there is room.
    case confirmDownload(DownloadPlan)
    case downloading(PhotoCount)
    case downloaded(DownloadReport)
    /// What accepting the account that is signed in would do: the user decides.
    case confirmAccount(AccountChange)
    /// A device to be removed: the user decides.
    case confirmRemoval(PhotoDevice)

    /// Photos that are done.
    public struct PhotoCount: Sendable, Equatable {
        public var done: Int
        public var total: Int

        public init(done: Int, total: Int) {
            self.done = done
            self.total = total
        }

        /// From 0 to 1; `nil` before the first photo.
        public var fraction: Double? { total > 0 ? min(1, Double(done) / Double(total)) : nil }
    }

    /// While it is under way, nothing else begins.
    public var isUnderWay: Bool {
        switch self {
        case .counting, .freeing, .downloading: true
        case .none, .confirmFreeing, .freed, .confirmDownload, .downloaded, .confirmAccount, .confirmRemoval: false
        }
    }

    /// Whether there is something to confirm: photos to free, photos to download and room for these, an account, or a device.
    public var canContinue: Bool {
        switch self {
        case .confirmFreeing(let report): report.evicted > 0 && report.alarms.isEmpty
        case .confirmDownload(let plan): plan.photoCount > 0 && plan.hasRoom
        case .confirmAccount, .confirmRemoval: true
        default: false
        }
    }

    /// Of what is under way.
    public var progress: PhotoCount? {
        switch self {
        case .freeing(let count), .downloading(let count): count
        default: nil
        }
    }
}
