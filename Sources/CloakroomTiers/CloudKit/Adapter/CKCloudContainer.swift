#if canImport(CloudKit)
    import CloudKit
    import Foundation

    /// The private database of a CKContainer.
    struct CKCloudContainer: CloudContainer {
        private let container: CKContainer
        private let database: CKDatabase

        init(_ container: CKContainer) {
            self.container = container
            database = container.privateCloudDatabase
        }

        var identifier: String { container.containerIdentifier ?? "" }

        func accountStatus() async throws(CloudFault) -> CloudAccountStatus {
            let status: CKAccountStatus
            do { status = try await container.accountStatus() } catch { throw CloudFault(error) }
            switch status {
            case .available: return .available
            case .noAccount: return .noAccount
            case .restricted: return .restricted
            case .temporarilyUnavailable: return .temporarilyUnavailable
            default: return .couldNotDetermine
            }
        }

        func userRecordName() async throws(CloudFault) -> String {
            do { return try await container.userRecordID().recordName } catch { throw CloudFault(error) }
        }

        func checkZone(_ zone: String) async throws(CloudFault) {
            do { _ = try await database.recordZone(for: Self.id(of: zone)) } catch { throw CloudFault(error) }
        }

        func saveZone(_ zone: String) async throws(CloudFault) {
            let zone = CKRecordZone(zoneID: Self.id(of: zone))
            do { _ = try await database.save(zone) } catch { throw CloudFault(error) }
        }

        func deleteZone(_ zone: String) async throws(CloudFault) {
            do { _ = try await database.deleteRecordZone(withID: Self.id(of: zone)) } catch { throw CloudFault(error) }
        }

        func fetch(
            _ names: [String], in zone: String
        ) async throws(CloudFault) -> [String: Result<CloudRecord, CloudFault>] {
            let operation = CKFetchRecordsOperation(recordIDs: names.map { Self.id(of: $0, in: zone) })
            operation.desiredKeys = CloudRecord.Field.allCases.filter { $0 != .asset }.map(\.rawValue)
            return try await CKRequest<CloudRecord>.run(operation, on: database) { results in
                operation.perRecordResultBlock = { results.add($0, $1.map { CloudRecord($0) }) }
                operation.fetchRecordsResultBlock = { results.finish($0) }
            }
        }

        func download(
            _ name: String, in zone: String, to file: URL, progress: @escaping @Sendable (Double) -> Void
        ) async throws(CloudFault) -> CloudRecord {
            let operation = CKFetchRecordsOperation(recordIDs: [Self.id(of: name, in: zone)])
            operation.perRecordProgressBlock = { _, fraction in progress(fraction) }
            let results = try await CKRequest<CloudRecord>.run(operation, on: database) { results in
                operation.perRecordResultBlock = { id, result in
                    // The system removes staged files: it is moved before this returns.
                    results.add(id, result.flatMap { record in Result { try Self.moved(record, to: file) } })
                }
                operation.fetchRecordsResultBlock = { results.finish($0) }
            }
            guard let result = results[name] else { throw .busy(retryAfter: nil) }
            return try result.get()
        }

        private static func moved(_ record: CKRecord, to file: URL) throws -> CloudRecord {
            let asset: CKAsset? = record[CloudRecord.Field.asset.rawValue]
            guard let staged = asset?.fileURL else { throw CloudFault.assetNotAvailable }
            try? FileManager.default.removeItem(at: file)
            do { try FileManager.default.moveItem(at: staged, to: file) } catch {
                throw CloudFault.unwritableFile(isFull: (error as? CocoaError)?.code == .fileWriteOutOfSpace)
            }
            return CloudRecord(record)
        }

        func save(
            _ records: [CloudRecord], in zone: String, policy: CloudSavePolicy,
            progress: @escaping @Sendable (Double) -> Void
        ) async throws(CloudFault) -> [String: Result<CloudRecord, CloudFault>] {
            let operation = CKModifyRecordsOperation(
                recordsToSave: records.map { $0.record(Self.id(of: $0.name, in: zone)) }, recordIDsToDelete: nil)
            operation.isAtomic = false
            switch policy {
            case .ifUnchanged: operation.savePolicy = .ifServerRecordUnchanged
            case .replace: operation.savePolicy = .allKeys
            }
            let share = 1 / Double(max(records.count, 1))
            operation.perRecordProgressBlock = { _, fraction in progress(fraction * share) }
            return try await CKRequest<CloudRecord>.run(operation, on: database) { results in
                operation.perRecordSaveBlock = { results.add($0, $1.map { CloudRecord($0) }) }
                operation.modifyRecordsResultBlock = { results.finish($0) }
            }
        }

        func delete(_ names: [String], in zone: String) async throws(CloudFault) -> [String: Result<Void, CloudFault>] {
            let operation = CKModifyRecordsOperation(
                recordsToSave: nil, recordIDsToDelete: names.map { Self.id(of: $0, in: zone) })
            operation.isAtomic = false
            return try await CKRequest<Void>.run(operation, on: database) { results in
                operation.perRecordDeleteBlock = { results.add($0, $1) }
                operation.modifyRecordsResultBlock = { results.finish($0) }
            }
        }

        func changes(in zone: String, since token: Data?) async throws(CloudFault) -> CloudChanges {
            do {
                let start = try token.map { try Self.token($0) }
                let page = try await database.recordZoneChanges(
                    inZoneWith: Self.id(of: zone), since: start, desiredKeys: [CloudRecord.Field.byteCount.rawValue])
                let changed = page.modificationResultsByID.map { id, result in
                    (id.recordName, result.map { CloudRecord($0.record) }.mapError { CloudFault($0) })
                }
                return CloudChanges(
                    changed: Dictionary(changed) { _, last in last },
                    deleted: page.deletions.map(\.recordID.recordName),
                    token: try NSKeyedArchiver.archivedData(
                        withRootObject: page.changeToken, requiringSecureCoding: true),
                    moreComing: page.moreComing)
            } catch {
                throw CloudFault(error)
            }
        }

        private static func token(_ bytes: Data) throws -> CKServerChangeToken {
            let token = try NSKeyedUnarchiver.unarchivedObject(ofClass: CKServerChangeToken.self, from: bytes)
            guard let token else { throw CloudFault.changeTokenExpired }
            return token
        }

        private static func id(of zone: String) -> CKRecordZone.ID { CKRecordZone.ID(zoneName: zone) }

        private static func id(of name: String, in zone: String) -> CKRecord.ID {
            CKRecord.ID(recordName: name, zoneID: id(of: zone))
        }
    }
#endif
