// What the sources use of Apple's CloudKit, as its documentation declares it. Never run: for the type checker alone.
public import Foundation

public let CKErrorUserDidResetEncryptedDataKey: String = ""

public struct CKError: Swift.Error, CustomNSError, Sendable {
    public enum Code: Int, Sendable {
        case internalError = 1
    }
    public var code: Code { never() }
    public var errorUserInfo: [String: Any] { never() }
    public var retryAfterSeconds: Double? { never() }
    public var partialErrorsByItemID: [AnyHashable: any Swift.Error]? { never() }
    public var serverRecord: CKRecord? { never() }
}

public enum CKAccountStatus: Int, Sendable {
    case couldNotDetermine, available, restricted, noAccount, temporarilyUnavailable
}

public final class CKContainer: NSObject, @unchecked Sendable {
    public class func `default`() -> CKContainer { never() }
    public init(identifier: String) { never() }
    public var containerIdentifier: String? { never() }
    public var privateCloudDatabase: CKDatabase { never() }
    public func accountStatus() async throws -> CKAccountStatus { never() }
    public func userRecordID() async throws -> CKRecord.ID { never() }
}

public final class CKDatabase: NSObject, @unchecked Sendable {
    public func add(_ operation: CKDatabaseOperation) { never() }
    public func recordZone(for zoneID: CKRecordZone.ID) async throws -> CKRecordZone { never() }
    @discardableResult public func save(_ zone: CKRecordZone) async throws -> CKRecordZone { never() }
    @discardableResult public func deleteRecordZone(withID zoneID: CKRecordZone.ID) async throws -> CKRecordZone.ID {
        never()
    }

    public enum RecordZoneChange {
        public struct Modification: Sendable {
            public let record: CKRecord
        }
        public struct Deletion: Sendable {
            public let recordID: CKRecord.ID
            public let recordType: CKRecord.RecordType
        }
    }

    public func recordZoneChanges(
        inZoneWith zoneID: CKRecordZone.ID, since changeToken: CKServerChangeToken?,
        desiredKeys: [CKRecord.FieldKey]? = nil, resultsLimit: Int? = nil
    ) async throws -> (
        modificationResultsByID: [CKRecord.ID: Result<CKDatabase.RecordZoneChange.Modification, any Error>],
        deletions: [CKDatabase.RecordZoneChange.Deletion], changeToken: CKServerChangeToken, moreComing: Bool
    ) { never() }
}

public final class CKServerChangeToken: NSObject, NSSecureCoding, @unchecked Sendable {
    public static var supportsSecureCoding: Bool { never() }
    public func encode(with coder: NSCoder) { never() }
    public init?(coder: NSCoder) { never() }
}

public final class CKRecordZone: NSObject, @unchecked Sendable {
    public final class ID: NSObject, @unchecked Sendable {
        public convenience init(zoneName: String, ownerName: String = "") { never() }
    }
    public init(zoneID: CKRecordZone.ID) { never() }
}

public protocol CKRecordValueProtocol {}
extension String: CKRecordValueProtocol {}
extension Int64: CKRecordValueProtocol {}
extension Data: CKRecordValueProtocol {}

public final class CKAsset: NSObject, CKRecordValueProtocol, @unchecked Sendable {
    public init(fileURL: URL) { never() }
    public var fileURL: URL? { never() }
}

public final class CKRecord: NSObject, @unchecked Sendable {
    public typealias RecordType = String
    public typealias FieldKey = String
    public final class ID: NSObject, @unchecked Sendable {
        public convenience init(recordName: String, zoneID: CKRecordZone.ID) { never() }
        public var recordName: String { never() }
    }
    public convenience init(recordType: CKRecord.RecordType, recordID: CKRecord.ID) { never() }
    public var recordType: CKRecord.RecordType { never() }
    public var recordID: CKRecord.ID { never() }
    public var recordChangeTag: String? { never() }
    public var modificationDate: Date? { never() }
    public subscript<T: CKRecordValueProtocol>(key: CKRecord.FieldKey) -> T? {
        get { never() }
        set { never() }
    }
}

open class CKOperation: Operation, @unchecked Sendable {
    open class Configuration: NSObject, @unchecked Sendable {
        public var qualityOfService: QualityOfService = .default
        public var timeoutIntervalForRequest: TimeInterval = 60
        public var timeoutIntervalForResource: TimeInterval = 604_800
    }
    public var configuration: CKOperation.Configuration {
        get { never() }
        set { never() }
    }
}

open class CKDatabaseOperation: CKOperation, @unchecked Sendable {}

public final class CKFetchRecordsOperation: CKDatabaseOperation, @unchecked Sendable {
    public convenience init(recordIDs: [CKRecord.ID]) { never() }
    public var desiredKeys: [CKRecord.FieldKey]?
    public var perRecordProgressBlock: (@Sendable (CKRecord.ID, Double) -> Void)?
    public var perRecordResultBlock: (@Sendable (CKRecord.ID, Result<CKRecord, any Error>) -> Void)?
    public var fetchRecordsResultBlock: (@Sendable (Result<Void, any Error>) -> Void)?
}

public final class CKModifyRecordsOperation: CKDatabaseOperation, @unchecked Sendable {
    public enum RecordSavePolicy: Int, Sendable {
        case ifServerRecordUnchanged, changedKeys, allKeys
    }
    public convenience init(recordsToSave: [CKRecord]? = nil, recordIDsToDelete: [CKRecord.ID]? = nil) { never() }
    public var savePolicy: RecordSavePolicy = .ifServerRecordUnchanged
    public var isAtomic: Bool = true
    public var perRecordProgressBlock: (@Sendable (CKRecord, Double) -> Void)?
    public var perRecordSaveBlock: (@Sendable (CKRecord.ID, Result<CKRecord, any Error>) -> Void)?
    public var perRecordDeleteBlock: (@Sendable (CKRecord.ID, Result<Void, any Error>) -> Void)?
    public var modifyRecordsResultBlock: (@Sendable (Result<Void, any Error>) -> Void)?
}

private func never() -> Never { preconditionFailure("a stub") }
