package import CloakroomSQLite

extension CloakroomError {
    /// - Parameter store: what could not be read or written, such as "the records of renewals".
    package init(_ error: SQLiteError, of store: String) {
        switch error {
        case .full: self.init(.diskFull, "no space is left for \(store)")
        case .busy: self.init(.storeFailed, "another process holds \(store)")
        case .corrupt: self.init(.storeFailed, "\(store) are damaged")
        case .readOnly: self.init(.storeFailed, "\(store) may not be written")
        case .newer: self.init(.laterVersion, "\(store) were made by a newer version of the app")
        case .other(let code, let message): self.init(.storeFailed, "\(store): \(message) (SQLite \(code))")
        }
    }
}
