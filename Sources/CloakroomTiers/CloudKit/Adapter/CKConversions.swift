#if canImport(CloudKit)
    import CloudKit
    import Foundation

    extension CloudFault {
        init(_ error: any Error) {
            switch error {
            case let fault as CloudFault: self = fault
            case let error as CKError:
                let partial = (error.partialErrorsByItemID ?? [:]).compactMap { item, error in
                    (item.base as? CKRecord.ID).map { ($0.recordName, CloudFault(error)) }
                }
                let isReset = error.errorUserInfo[CKErrorUserDidResetEncryptedDataKey] as? NSNumber
                self.init(
                    code: error.code.rawValue, retryAfter: error.retryAfterSeconds,
                    isReset: isReset?.boolValue ?? false, serverRecord: error.serverRecord.map { CloudRecord($0) },
                    partial: Dictionary(partial) { first, _ in first })
                // A request for a single zone fails for it alone.
                if self == .partialFailure([:]), let only = error.partialErrorsByItemID?.values.first {
                    self = CloudFault(only)
                }
            case is CancellationError: self = .cancelled
            default: self = .other(code: (error as NSError).code)
            }
        }
    }

    extension CloudRecord {
        init(_ record: CKRecord) {
            let byteCount: Int64? = record[Field.byteCount.rawValue]
            self.init(
                kind: Kind(rawValue: record.recordType) ?? .document, name: record.recordID.recordName,
                byteCount: byteCount ?? 0)
            sha256 = record[Field.sha256.rawValue]
            format = record[Field.format.rawValue]
            bytes = record[Field.bytes.rawValue]
            changeTag = record.recordChangeTag
            modified = record.modificationDate
        }

        func record(_ id: CKRecord.ID) -> CKRecord {
            let record = CKRecord(recordType: kind.rawValue, recordID: id)
            record[Field.byteCount.rawValue] = byteCount
            if let sha256 { record[Field.sha256.rawValue] = sha256 }
            if let format { record[Field.format.rawValue] = format }
            if let bytes { record[Field.bytes.rawValue] = bytes }
            if let asset { record[Field.asset.rawValue] = CKAsset(fileURL: asset) }
            return record
        }
    }
#endif
